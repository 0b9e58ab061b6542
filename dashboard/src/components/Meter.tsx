/** A share as a bar; its number is shown beside it. */
export function Meter({ value, of, tone = 'flow' }: { value: number; of: number; tone?: string }) {
  const share = of === 0 ? 0 : Math.min(1, value / of)
  return (
    <svg className={`meter meter-${tone}`} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect className="meter-floor" width="100" height="6" rx="1" />
      <rect className="meter-value" width={share * 100} height="6" rx="1" />
    </svg>
  )
}
