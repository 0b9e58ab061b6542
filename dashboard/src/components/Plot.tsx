import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { usePreferences } from '../text/preferences.ts'

export interface Line {
  label: string
  tone: 'flow' | 'good' | 'bad' | 'warn' | 'quiet'
  values: readonly (number | null)[]
  fill?: boolean | undefined
}

export interface ChartProps {
  title: string
  times: readonly string[]
  lines: readonly Line[]
  show: (value: number) => string
  /** The first starts of new versions, drawn as dashed lines. */
  marks?: readonly { at: string; version: string }[] | undefined
}

const height = 150

/** All charts of a screen share a cursor. */
const sync = uPlot.sync('stint')

/** Loaded on demand: uPlot is as large as the rest of the page. It sets styles by CSSOM, which our CSP allows. */
export function Plot({ times, lines, show, marks = [], title }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef({ show, marks })
  latest.current = { show, marks }
  const { theme } = usePreferences()
  const shape = lines.map((line) => `${line.label} ${line.tone}`).join()

  useEffect(() => {
    const box = ref.current
    if (box === null) return
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(box, lines, latest), dataOf(times, lines), box)
    }
    draw()
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height }))
    resize.observe(box)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      resize.disconnect()
      scheme.removeEventListener('change', draw)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, theme])

  useEffect(() => {
    plot.current?.setData(dataOf(times, lines))
  }, [times, lines])

  return (
    <div
      className="plot"
      ref={ref}
      role="img"
      aria-label={`${title}: chart. The table below has the same numbers.`}
    />
  )
}

function dataOf(times: readonly string[], lines: readonly Line[]): uPlot.AlignedData {
  return [times.map((at) => Date.parse(at) / 1_000), ...lines.map((line) => [...line.values])]
}

function optionsOf(
  box: HTMLElement,
  lines: readonly Line[],
  latest: { current: Pick<ChartProps, 'show' | 'marks'> },
): uPlot.Options {
  const style = getComputedStyle(box)
  const colour = (name: string): string => style.getPropertyValue(name)
  // The colour tokens are light-dark(): a hidden element resolves them to a colour.
  const resolve = (name: string): string => {
    const probe = document.createElement('span')
    probe.style.color = colour(name)
    box.append(probe)
    const resolved = getComputedStyle(probe).color
    probe.remove()
    return resolved
  }
  const muted = resolve('--muted')
  const grid = resolve('--line')
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: muted, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } }
  return {
    width: box.clientWidth,
    height,
    // Room on the right for half of the last label of the time axis.
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: sync.key }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_plot, _low, high) => [0, high <= 0 ? 1 : high * 1.08] } },
    axes: [
      { ...axis, space: 60, size: 24, values: clockTicks },
      {
        ...axis,
        size: 52,
        space: 30,
        // Without data the numbers of the axis would be arbitrary.
        values: ({ data: [, ...drawn] }, ticks) =>
          drawn.every((values) => [...values].every((value) => value == null))
            ? ticks.map(() => '')
            : ticks.map((tick) => latest.current.show(tick)),
      },
    ],
    series: [
      {},
      ...lines.map((line) => {
        const stroke = resolve(`--tone-${line.tone}`)
        return {
          label: line.label,
          stroke,
          width: 1.5,
          points: { show: false },
          ...(line.fill === true && { fill: stroke.replace('rgb(', 'rgba(').replace(')', ', 0.14)') }),
        }
      }),
    ],
    hooks: {
      draw: [
        (plot) => {
          const { ctx, bbox } = plot
          ctx.save()
          ctx.strokeStyle = muted
          ctx.setLineDash([3, 3])
          for (const mark of latest.current.marks ?? []) {
            const x = plot.valToPos(Date.parse(mark.at) / 1_000, 'x', true)
            if (x < bbox.left || x > bbox.left + bbox.width) continue
            ctx.beginPath()
            ctx.moveTo(x, bbox.top)
            ctx.lineTo(x, bbox.top + bbox.height)
            ctx.stroke()
          }
          ctx.restore()
        },
      ],
      setCursor: [
        (plot) => {
          tip(plot, box, latest.current.show)
        },
      ],
    },
  }
}

/** Shows the values under the pointer. */
function tip(plot: uPlot, box: HTMLElement, show: (value: number) => string): void {
  let note = box.querySelector<HTMLElement>('.plot-tip')
  if (note === null) {
    note = document.createElement('div')
    note.className = 'plot-tip'
    box.append(note)
  }
  const { idx, left = -1 } = plot.cursor
  const at = idx == null ? undefined : plot.data[0][idx]
  note.hidden = at === undefined || left < 0
  if (at === undefined || idx == null) return
  const figures = plot.series.slice(1).map((series, index) => {
    const value = plot.data[index + 1]?.[idx]
    return `${typeof series.label === 'string' ? series.label : ''} ${value == null ? '–' : show(value)}`
  })
  note.textContent = [clock.format(at * 1_000), ...figures].join('   ')
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

function clockTicks(_plot: uPlot, ticks: number[]): string[] {
  const isLong = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0) > 2 * 86_400
  return ticks.map((tick) => (isLong ? day : clock).format(tick * 1_000))
}
