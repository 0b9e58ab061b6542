interface Counts {
  total: number
  remaining: number
  succeeded: number
  dead: number
  cancelled: number
}

const parts = [
  ['succeeded', 'succeeded'],
  ['dead', 'dead'],
  ['cancelled', 'cancelled'],
] as const

/** How the jobs of a group have ended, as one bar; its numbers are beside it. */
export function CountsBar({ counts }: { counts: Counts }) {
  let x = 0
  return (
    <svg className="counts-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect className="meter-floor" width="100" height="6" rx="1" />
      {parts.map(([name, tone]) => {
        const width =
          counts.total <= 0 ? 0 : Math.max(0, Math.min(100 - x, (counts[name] / counts.total) * 100))
        const rect = <rect key={name} className={`fill-${tone}`} x={x} width={width} height="6" />
        x += width
        return rect
      })}
    </svg>
  )
}

/** `3 of 10 ended, 1 dead` */
export function countsText({ total, remaining, dead, cancelled }: Counts): string {
  return [
    total === 1 ? '1 job' : `${total - remaining} of ${total} ended`,
    ...(dead > 0 ? [`${dead} dead`] : []),
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
  ].join(', ')
}
