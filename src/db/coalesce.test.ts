import { expect, test } from 'vitest'
import { Coalescer } from './coalesce.ts'
import type { Flushed } from './coalesce.ts'

/** A flush that records its items and answers at once; negative items fail. */
function recorder(): {
  batches: number[][]
  flush: (items: readonly number[]) => Promise<Flushed<number>[]>
} {
  const batches: number[][] = []
  return {
    batches,
    flush: (items) => {
      batches.push([...items])
      return Promise.resolve(
        items.map((item) =>
          item < 0 ? { ok: false, error: new Error('bad') } : { ok: true, result: item * 2 },
        ),
      )
    },
  }
}

test('callers of one turn of the event loop share a flush, each with its own answer', async () => {
  const { batches, flush } = recorder()
  const coalescer = new Coalescer(flush, { maxItems: 10, maxBytes: 1_000 })
  const answers = await Promise.allSettled([1, -1, 3].map((item) => coalescer.add(item, 1)))
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'refused'))).toEqual([
    2,
    'refused',
    6,
  ])
  expect(batches).toEqual([[1, -1, 3]])
})

test('callers that call again at once share the next flush', async () => {
  const { batches, flush } = recorder()
  const coalescer = new Coalescer(flush, { maxItems: 100, maxBytes: 1_000 })
  const caller = async (item: number): Promise<void> => {
    for (let round = 0; round < 3; round++) await coalescer.add(item, 1)
  }
  await Promise.all(Array.from({ length: 20 }, (_, item) => caller(item)))
  expect(batches.map((batch) => batch.length)).toEqual([20, 20, 20])
})

test('a flush holds no more rows and bytes than its limits, but at least one row', async () => {
  const { batches, flush } = recorder()
  const coalescer = new Coalescer(flush, { maxItems: 3, maxBytes: 10 })
  await Promise.all([4, 4, 4, 99, 1, 1, 1, 1].map((bytes) => coalescer.add(bytes, bytes)))
  expect(batches).toEqual([[4, 4], [4], [99], [1, 1, 1], [1]])
})

test('a flush that fails as a whole fails every caller in it, and the next flush works', async () => {
  let isDown = true
  const coalescer = new Coalescer<number, number>(
    (items) =>
      isDown
        ? Promise.reject(new Error('down'))
        : Promise.resolve(items.map((result) => ({ ok: true, result }))),
    { maxItems: 10, maxBytes: 10 },
  )
  await expect(coalescer.add(1, 1)).rejects.toThrow('down')
  isDown = false
  await expect(coalescer.add(2, 1)).resolves.toBe(2)
})

test('drained() resolves when all callers are answered', async () => {
  const { flush } = recorder()
  const coalescer = new Coalescer(flush, { maxItems: 1, maxBytes: 10 })
  await coalescer.drained()
  let answered = 0
  const calls = [1, 2, 3].map((item) => coalescer.add(item, 1).then(() => answered++))
  await coalescer.drained()
  expect(answered).toBe(3)
  await Promise.all(calls)
})
