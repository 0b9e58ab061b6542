import { expect, test } from 'vitest'
import { Shared } from './shared-reads.ts'

/** A `Shared` whose reads end when the test calls `answer`. */
function answering(): {
  shared: Shared<string>
  answer: (text: string) => Promise<void>
  asked: () => number
} {
  const waiting: ((text: string) => void)[] = []
  let count = 0
  const ask = (): Promise<string> => {
    count++
    return new Promise((resolve) => waiting.push(resolve))
  }
  return {
    shared: new Shared(ask, 0),
    answer: async (text) => {
      waiting.shift()?.(text)
      await Promise.resolve()
    },
    asked: () => count,
  }
}

test('callers that ask during one read share its answer', async () => {
  const { shared, answer, asked } = answering()
  const both = [shared.get(), shared.get()]
  await answer('one')
  expect(await Promise.all(both)).toEqual(['one', 'one'])
  expect(asked()).toBe(1)
})

test('soon() returns undefined before the first answer, then the last answer while a newer read is running', async () => {
  const { shared, answer, asked } = answering()
  expect(await shared.soon(1)).toBeUndefined()
  await answer('one')
  expect(await shared.soon(1)).toBe('one')
  expect(asked()).toBe(2)
  const soon = shared.soon(10_000)
  await answer('two')
  expect(await soon).toBe('two')
})

test('a failed read rejects for its callers, and the next caller starts a new read', async () => {
  let isBroken = true
  const shared = new Shared(
    () => (isBroken ? Promise.reject(new Error('away')) : Promise.resolve('here')),
    60_000,
  )
  await expect(shared.soon(10_000)).rejects.toThrow('away')
  isBroken = false
  expect(await shared.soon(10_000)).toBe('here')
})
