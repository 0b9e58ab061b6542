import { layeredLayout } from '../../core/layered-layout.ts'
import type { LaidEdge, Layout } from '../../core/layered-layout.ts'
import type { Flow } from '../../flows/graph/read.ts'
import { edgesTo } from '../../flows/graph/shape.ts'
import { flowHeadline, flowNodeTable, nodeStyled } from './flow-page.ts'
import type { Styled } from './format.ts'
import { oneLine, paint } from './format.ts'

/** A graph with more nodes is a list: it cannot be read as a drawing in a terminal. */
const mostDrawn = 100
const leastLabel = 10
const mostLabel = 32

/** Draws a flow from left to right; as a list where the terminal is too narrow for that. */
export function flowGraph(flow: Flow, { width, now }: { width: number; now: Date }): string {
  const head = flowHeadline(flow, now)
  const drawn = flow.nodes.length > mostDrawn ? undefined : draw(flow, width)
  return `${head}\n\n${drawn ?? flowNodeTable(flow)}`
}

/** Undefined if it does not fit. */
function draw(flow: Flow, width: number): string | undefined {
  const after = edgesTo(flow.nodes)
  const labels = flow.nodes.map((node, index): Styled => {
    const { text, style } = nodeStyled(node)
    const rare = [
      ...new Set((after[index] ?? []).flatMap(({ when }) => (when === 'succeeded' ? [] : [when]))),
    ]
    const counts = node.total === 1 ? '' : ` ${node.succeeded}/${node.total}`
    const dead = node.dead > 0 && node.total > 1 ? ` ✖${node.dead}` : ''
    const on = rare.map((when) => (when === 'dead' ? ' (on dead)' : ' (on end)')).join('')
    return { text: `${text} ${node.name}${counts}${dead}${on}`, style }
  })
  const layout = layeredLayout(after.map((edges) => edges.map(({ node }) => node)))
  for (let most = mostLabel; most >= leastLabel; most--) {
    const cut = labels.map(({ text, style }) => ({ text: oneLine(text, most), style }))
    const canvas = new Canvas(layout, cut)
    if (canvas.width <= width) return canvas.draw()
  }
  return undefined
}

const [up, right, down, left] = [1, 2, 4, 8]
/** The character for the directions in which lines leave a cell. */
const joints = ' ╵─└╷│┌├─┘─┴┐┤┬┼'

/** Labels in columns, and lines between them. */
class Canvas {
  readonly #layout: Layout
  readonly #labels: readonly Styled[]
  /** Where each column begins, and the width of its labels. */
  readonly #columns: { start: number; width: number }[] = []
  /** For each column, the vertical lines behind it: those of one node share one. */
  readonly #tracks: Map<string, number>[]
  readonly width: number
  readonly #lines = new Map<string, number>()

  constructor(layout: Layout, labels: readonly Styled[]) {
    this.#layout = layout
    this.#labels = labels
    this.#tracks = Array.from({ length: layout.layers }, () => new Map<string, number>())
    for (const { path } of layout.edges)
      for (const [index, { layer, row }] of path.entries()) {
        const next = path[index + 1]
        const tracks = this.#tracks[layer]
        if (next === undefined || tracks === undefined || next.row === row) continue
        if (!tracks.has(String(row))) tracks.set(String(row), tracks.size)
      }
    let start = 0
    for (const [layer, tracks] of this.#tracks.entries()) {
      const own = labels.filter((_, node) => layout.nodes[node]?.layer === layer)
      const width = Math.max(0, ...own.map(({ text }) => text.length))
      this.#columns.push({ start, width })
      start += width + tracks.size + 4
    }
    const last = this.#columns.at(-1)
    this.width = last === undefined ? 0 : last.start + last.width
  }

  draw(): string {
    for (const edge of this.#layout.edges) this.#connect(edge)
    const rows = Array.from({ length: this.#layout.rows }, (_, row) => this.#row(row))
    return rows.map((row) => row.trimEnd()).join('\n')
  }

  #connect({ from, path }: LaidEdge): void {
    const label = this.#labels[from]?.text.length ?? 0
    for (const [index, { layer, row }] of path.entries()) {
      const next = path[index + 1]
      const [column, target] = [this.#columns[layer], this.#columns[layer + 1]]
      if (next === undefined || column === undefined || target === undefined) continue
      // A passage begins with its column, a node behind its label.
      const begin = column.start + (index === 0 ? label + 1 : 0)
      // A passage has no label: the line goes on through its column.
      const end = index + 2 < path.length ? target.start : target.start - 2
      const track = column.start + column.width + 2 + (this.#tracks[layer]?.get(String(row)) ?? 0)
      if (next.row === row) {
        this.#across(row, begin, end)
        continue
      }
      this.#across(row, begin, track)
      this.#along(track, row, next.row)
      this.#across(next.row, track, end)
    }
  }

  #across(row: number, from: number, to: number): void {
    for (let x = from; x <= to; x++) this.#mark(x, row, (x > from ? left : 0) | (x < to ? right : 0))
  }

  #along(x: number, from: number, to: number): void {
    const [low, high] = from < to ? [from, to] : [to, from]
    for (let row = low; row <= high; row++) this.#mark(x, row, (row > low ? up : 0) | (row < high ? down : 0))
  }

  #mark(x: number, row: number, directions: number): void {
    const key = `${x} ${row}`
    this.#lines.set(key, (this.#lines.get(key) ?? 0) | directions)
  }

  #row(row: number): string {
    const labels = new Map<number, Styled>()
    for (const [node, place] of this.#layout.nodes.entries()) {
      const [label, column] = [this.#labels[node], this.#columns[place.layer]]
      if (place.row === row && label !== undefined && column !== undefined) labels.set(column.start, label)
    }
    let text = ''
    for (let x = 0; x < this.width; x++) {
      const label = labels.get(x)
      if (label === undefined) text += joints[this.#lines.get(`${x} ${row}`) ?? 0] ?? ' '
      else {
        text += paint(label)
        x += label.text.length - 1
      }
    }
    return text
  }
}
