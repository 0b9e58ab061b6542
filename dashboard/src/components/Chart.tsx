import { lazy, Suspense } from 'react'
import { Boundary } from './Boundary.tsx'
import type { ChartProps } from './Plot.tsx'
import { clockText } from './Time.tsx'

const Plot = lazy(() => import('./Plot.tsx').then((module) => ({ default: module.Plot })))

/** A chart, with the same numbers as a table for people who cannot or do not want to read the chart. */
export function Chart(props: ChartProps) {
  const isMeasured = props.lines.some((line) => line.values.some((value) => value !== null))
  return (
    <figure className="chart">
      <figcaption>
        <span>{props.title}</span>
        <span className="legend">
          {props.lines.map((line) => (
            <span key={line.label} className={`swatch swatch-${line.tone}`}>
              {line.label}
            </span>
          ))}
        </span>
      </figcaption>
      <Boundary
        instead={() => <p className="muted">The chart cannot be drawn. The table has the numbers.</p>}
      >
        <Suspense fallback={<div className="plot" />}>
          <Plot {...props} />
        </Suspense>
      </Boundary>
      {isMeasured ? null : <p className="plot-empty">no data</p>}
      <details>
        <summary>Show as a table</summary>
        <div className="table-scroll" tabIndex={0} role="region" aria-label={`${props.title}, as a table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {props.lines.map((line) => (
                  <th key={line.label} scope="col" className="num">
                    {line.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {props.times.map((at, index) => (
                <tr key={at}>
                  <th scope="row">
                    <time dateTime={at}>{clockText(at, false)}</time>
                  </th>
                  {props.lines.map((line) => (
                    <td key={line.label} className="num">
                      {line.values[index] == null ? '–' : props.show(line.values[index])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}
