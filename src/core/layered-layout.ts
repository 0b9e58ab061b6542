/*
 * Places the nodes of a directed graph in layers from left to right: each node stands right of all that it comes after. A small
 * form of Sugiyama's method: layers by the longest path, the order in a layer by the average of the neighbours, and rows close
 * to them, so that most edges are straight. An edge over several layers passes through a place of its own in each of them.
 */

export interface Place {
  layer: number
  row: number
}

export interface LaidEdge {
  from: number
  to: number
  /** The places from one end to the other. */
  path: Place[]
}

export interface Layout {
  layers: number
  rows: number
  nodes: Place[]
  edges: LaidEdge[]
}

/** A place in a layer: a node, or where an edge passes. */
interface Slot {
  layer: number
  row: number
  left: Slot[]
  right: Slot[]
}

/** An edge that would pass through more places than this, together with the others, is drawn straight. */
const mostPassages = 5_000
const sweeps = 4

/** `after` has, for each node, the indexes of the nodes that it comes after. Edges that close a circle are left out. */
export function layeredLayout(after: readonly (readonly number[])[]): Layout {
  const { layerOf, edges } = layered(after)
  const nodes = layerOf.map((layer): Slot => ({ layer, row: 0, left: [], right: [] }))
  const layers: Slot[][] = Array.from({ length: Math.max(0, ...layerOf) + 1 }, () => [])
  for (const slot of nodes) layers[slot.layer]?.push(slot)
  let passages = 0
  const paths = edges.map(({ from, to }) => {
    const [first, last] = [nodes[from], nodes[to]]
    if (first === undefined || last === undefined) return []
    const path = [first]
    const between = last.layer - first.layer - 1
    if (passages + between <= mostPassages) {
      passages += between
      for (let layer = first.layer + 1; layer < last.layer; layer++) {
        const passage: Slot = { layer, row: 0, left: [], right: [] }
        layers[layer]?.push(passage)
        path.push(passage)
      }
    }
    path.push(last)
    for (const [index, slot] of path.entries()) {
      const next = path[index + 1]
      if (next === undefined) continue
      slot.right.push(next)
      next.left.push(slot)
    }
    return path
  })
  order(layers)
  const place = ({ layer, row }: Slot): Place => ({ layer, row })
  return {
    layers: nodes.length === 0 ? 0 : layers.length,
    rows: layers.flat().reduce((most, { row }) => Math.max(most, row + 1), 0),
    nodes: nodes.map(place),
    edges: edges.map(({ from, to }, index) => ({ from, to, path: (paths[index] ?? []).map(place) })),
  }
}

/** The layer of each node: one more than the highest of those that it comes after. */
function layered(after: readonly (readonly number[])[]): {
  layerOf: number[]
  edges: { from: number; to: number }[]
} {
  const layerOf = after.map(() => 0)
  const placed = new Set<number>()
  const waiting = after.map((sources) => new Set(sources.filter((from) => after[from] !== undefined)))
  const next = after.map((): number[] => [])
  for (const [to, sources] of waiting.entries()) for (const from of sources) next[from]?.push(to)
  const edges: { from: number; to: number }[] = []
  const free = [...waiting.keys()].filter((index) => waiting[index]?.size === 0)
  while (placed.size < after.length) {
    // Nodes that are left come after each other, in a circle: the first of them begins.
    const index = free.shift() ?? after.findIndex((_, one) => !placed.has(one))
    if (placed.has(index)) continue
    placed.add(index)
    for (const to of next[index] ?? []) {
      if (placed.has(to)) continue
      edges.push({ from: index, to })
      layerOf[to] = Math.max(layerOf[to] ?? 0, (layerOf[index] ?? 0) + 1)
      waiting[to]?.delete(index)
      if (waiting[to]?.size === 0) free.push(to)
    }
  }
  return { layerOf, edges }
}

/** Sorts the layers, each by the average row of the neighbours on one side, from both ends in turn; then sets the rows. */
function order(layers: Slot[][]): void {
  for (const layer of layers) for (const [row, slot] of layer.entries()) slot.row = row
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isForward = sweep % 2 === 0
    for (const layer of isForward ? layers : layers.toReversed()) {
      const wanted = new Map(layer.map((slot) => [slot, average(isForward ? slot.left : slot.right)]))
      layer.sort((a, b) => (wanted.get(a) ?? a.row) - (wanted.get(b) ?? b.row))
      for (const [row, slot] of layer.entries()) slot.row = row
    }
  }
  for (const layer of layers) {
    let free = 0
    for (const slot of layer) {
      slot.row = Math.max(free, Math.round(average(slot.left) ?? free))
      free = slot.row + 1
    }
  }
}

function average(slots: readonly Slot[]): number | undefined {
  return slots.length === 0 ? undefined : slots.reduce((sum, { row }) => sum + row, 0) / slots.length
}
