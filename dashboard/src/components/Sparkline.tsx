/** A small bar chart without axes; a text beside it, or its label, has the meaning. */
export function Sparkline({
  values,
  label,
  tone = 'flow',
}: {
  values: readonly number[]
  label: string
  tone?: 'flow' | 'bad'
}) {
  const most = Math.max(...values, 0)
  const width = values.length * 2
  return (
    <svg
      className={`spark spark-${tone}`}
      viewBox={`0 0 ${width} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path className="spark-floor" d={`M0 19.5H${width}`} />
      {values.map((value, index) => {
        if (value <= 0) return null
        // A small value still gets a visible bar.
        const height = Math.max(1.5, (value / most) * 19)
        return <rect key={index} x={index * 2} y={20 - height} width={1.5} height={height} />
      })}
    </svg>
  )
}
