import { expect, test } from 'vitest'
import { layeredLayout } from './layered-layout.ts'

test('each node stands right of those that it comes after, and no two share a place', () => {
  const after = [[], [0], [0], [1, 2], [3, 0]]
  const { nodes, layers, edges } = layeredLayout(after)
  expect(nodes.map(({ layer }) => layer)).toEqual([0, 1, 1, 2, 3])
  expect(layers).toBe(4)
  expect(new Set(nodes.map(({ layer, row }) => `${layer} ${row}`)).size).toBe(5)
  expect(edges).toHaveLength(6)
  for (const { from, to, path } of edges) {
    expect([path[0], path.at(-1)]).toEqual([nodes[from], nodes[to]])
    expect(path.map(({ layer }) => layer)).toEqual(path.map((_, step) => (nodes[from]?.layer ?? 0) + step))
  }
})

test('an edge over several layers passes by the nodes between', () => {
  const { nodes, edges } = layeredLayout([[], [0], [1, 0]])
  const long = edges.find(({ from, to }) => from === 0 && to === 2)
  expect(long?.path).toHaveLength(3)
  expect(long?.path[1]).not.toEqual(nodes[1])
})

test('a chain is one straight line', () => {
  const { nodes, rows } = layeredLayout([[], [0], [1], [2]])
  expect([rows, nodes.map(({ row }) => row)]).toEqual([1, [0, 0, 0, 0]])
})

test('neighbours stand in the order of what they come after, so that their edges do not cross', () => {
  const { nodes } = layeredLayout([[], [], [1], [0]])
  expect(nodes.map(({ row }) => row)).toEqual([0, 1, 1, 0])
})

test('a circle, an edge to nowhere and a node after itself are drawn without the edges that cannot be', () => {
  const { nodes, edges } = layeredLayout([[2], [0], [1], [3, 9]])
  expect(nodes.map(({ layer }) => layer)).toEqual([0, 1, 2, 0])
  expect(edges.map(({ from, to }) => [from, to])).toEqual([
    [0, 1],
    [1, 2],
  ])
  expect(layeredLayout([])).toEqual({ layers: 0, rows: 0, nodes: [], edges: [] })
})

test('a thousand nodes with ten thousand edges are placed within a second', () => {
  const after = Array.from({ length: 1_000 }, (_, index) =>
    index === 0 ? [] : Array.from({ length: 10 }, (__, edge) => Math.max(0, index - 1 - edge * 3)),
  )
  const { nodes } = layeredLayout(after)
  expect(nodes[999]?.layer).toBe(999)
}, 1_000)
