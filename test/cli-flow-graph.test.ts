import { expect, test } from 'vitest'
import { flowGraph } from '../src/cli/output/flow-graph.ts'
import type { Flow, FlowNode } from '../src/index.ts'

const now = new Date('2026-11-18T10:00:00Z')

/** `✖`: one of its jobs is dead; `◌`: it waits; `✓`: all succeeded. */
function nodeOf(
  [state, name, jobs]: readonly [state: '✓' | '✖' | '◌' | '●', name: string, jobs: number],
  node: number,
  to: { onSucceeded?: number[]; onDead?: number[] } = {},
): FlowNode {
  const dead = state === '✖' ? 1 : 0
  const succeeded = state === '✓' ? jobs : state === '✖' ? jobs - 1 : 0
  return {
    ...{ node, name, total: jobs, remaining: jobs - dead - succeeded, succeeded, dead, cancelled: 0 },
    ...{ needs: state === '◌' ? 1 : 0, isOpen: false, isComplete: state === '✓' },
    ...{ onSucceeded: [], onEnded: [], onDead: [], ...to },
  }
}

const checkout: Flow = {
  ...{ id: '01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4', type: 'flow', name: 'checkout', state: 'held' },
  ...{ parentId: null, uniqueKey: null, createdAt: new Date('2026-11-18T09:57:00Z'), endedAt: null },
  ...{ cancelReason: null, rerunOf: null, broken: [] },
  nodes: [
    nodeOf(['✓', 'reserve', 1], 0, { onSucceeded: [1, 2, 6] }),
    nodeOf(['✓', 'tax', 1], 1, { onSucceeded: [3] }),
    nodeOf(['✓', 'fraud', 1], 2, { onSucceeded: [3] }),
    nodeOf(['✖', 'capture', 5], 3, { onSucceeded: [4], onDead: [6] }),
    nodeOf(['◌', 'ship', 1], 4, { onSucceeded: [5] }),
    nodeOf(['◌', 'email', 1], 5),
    nodeOf(['●', 'release stock', 1], 6),
  ],
}

test('a flow is drawn from left to right, and its names are cut to fit 80 columns', () => {
  expect(`\n${flowGraph(checkout, { width: 140, now })}\n`).toMatchInlineSnapshot(`
    "
    checkout  ✖ held  8/11 done, 1 dead, 2 held by them, created 3m ago

    ✓ reserve ─┬─ ✓ tax ───┐
               ├─ ✓ fraud ─┴─ ✖ capture 4/5 ✖1 ─┬─ ◌ ship ───────────────────── ◌ email
               └────────────────────────────────┴─ ● release stock (on dead)
    "
  `)
  const narrow = flowGraph(checkout, { width: 80, now })
  expect(`\n${narrow}\n`).toMatchInlineSnapshot(`
    "
    checkout  ✖ held  8/11 done, 1 dead, 2 held by them, created 3m ago

    ✓ reserve ─┬─ ✓ tax ───┐
               ├─ ✓ fraud ─┴─ ✖ capture 4/5 ✖1 ─┬─ ◌ ship ────────────────── ◌ email
               └────────────────────────────────┴─ ● release stock (on d…
    "
  `)
  for (const line of narrow.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('a flow that does not fit, or has more than 100 nodes, is a list', () => {
  expect(`\n${flowGraph(checkout, { width: 40, now })}\n`).toMatchInlineSnapshot(`
    "
    checkout  ✖ held  8/11 done, 1 dead, 2 held by them, created 3m ago

    NODE           STATE        JOBS  DONE  DEAD  AFTER
    reserve        ✓ succeeded     1     1
    tax            ✓ succeeded     1     1        reserve
    fraud          ✓ succeeded     1     1        reserve
    capture        ✖ dead          5     5     1  tax, fraud
    ship           ◌ waiting       1     0        capture
    email          ◌ waiting       1     0        ship
    release stock  ● open          1     0        reserve, capture (dead)
    "
  `)
  const nodes = Array.from({ length: 101 }, (_, index) => nodeOf(['●', `n${index}`, 1], index))
  expect(flowGraph({ ...checkout, nodes }, { width: 140, now })).toContain('NODE  STATE')
})
