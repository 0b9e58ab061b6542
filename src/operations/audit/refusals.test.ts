import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { NewAuditEntry } from './audit.ts'
import { Refusals } from './refusals.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

let count = 0
function entry(of: Partial<NewAuditEntry> = {}): NewAuditEntry {
  count++
  return {
    id: `note-${count}`,
    actor: 'ana',
    role: 'viewer',
    origin: 'api',
    action: 'job.cancel',
    target: `job-${count}`,
    outcome: 'refused',
    reason: null,
    before: null,
    after: { refused: 'viewer may not' },
    operationId: null,
    requestId: null,
    ...of,
  }
}

function folding(most?: number): { refusals: Refusals; written: NewAuditEntry[] } {
  const written: NewAuditEntry[] = []
  const write = (one: NewAuditEntry): Promise<void> => {
    written.push(one)
    return Promise.resolve()
  }
  return { refusals: new Refusals(write, most), written }
}

test('the first refusal is audited at once, and its repeats within a minute as one entry', async () => {
  const { refusals, written } = folding()
  const [first, second, third] = [entry(), entry(), entry()]
  for (const one of [first, second, third]) await refusals.note(one)
  expect(written).toEqual([first])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(written).toEqual([first, { ...third, after: { refused: 'viewer may not', repeats: 2 } }])
  // The next refusal begins another minute.
  const later = entry()
  await refusals.note(later)
  expect(written.at(-1)).toEqual(later)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(written).toHaveLength(3)
})

test('a refusal of another person, action or origin is counted by itself', async () => {
  const { refusals, written } = folding()
  const all = [entry(), entry({ actor: 'bo' }), entry({ action: 'queue.set' })]
  for (const one of all) await refusals.note(one)
  expect(written).toEqual(all)
  // Refusals from the command line and from code are not counted: these callers have the database itself.
  const own = [entry({ origin: 'cli' }), entry({ origin: 'cli' }), entry({ origin: 'code' })]
  for (const one of own) await refusals.note(one)
  expect(written).toEqual([...all, ...own])
})

test('counted refusals are written at the end, and only a bounded number is remembered', async () => {
  const { refusals, written } = folding(2)
  for (const actor of ['a', 'a', 'b', 'b', 'c']) await refusals.note(entry({ actor }))
  const shown = (): unknown[] => written.map(({ actor, after }) => [actor, after])
  const first = { refused: 'viewer may not' }
  expect(shown()).toEqual([
    ['a', first],
    ['b', first],
    ['a', { ...first, repeats: 1 }],
    ['c', first],
  ])
  await refusals.close()
  expect(shown().slice(4)).toEqual([['b', { ...first, repeats: 1 }]])
  expect(vi.getTimerCount()).toBe(0)
})

test('a refusal that could not be audited is reported, and the next one is written again', async () => {
  const failing = vi.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(undefined)
  const refusals = new Refusals(failing)
  await expect(refusals.note(entry())).rejects.toThrow('away')
  await refusals.note(entry())
  expect(failing).toHaveBeenCalledTimes(2)
  await refusals.close()
})
