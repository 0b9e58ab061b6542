import { expect, test } from 'vitest'
import { Shared } from './shared-reads.ts'

/** Something that is asked, and answers when it is told to. */
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

test('who asks while it is being asked gets the same answer', async () => {
  const { shared, answer, asked } = answering()
  const both = [shared.get(), shared.get()]
  await answer('one')
  expect(await Promise.all(both)).toEqual(['one', 'one'])
  expect(asked()).toBe(1)
})

test('who does not want to wait gets nothing at first, then the last answer, while a newer one is on its way', async () => {
  const { shared, answer, asked } = answering()
  expect(await shared.soon(1)).toBeUndefined()
  await answer('one')
  expect(await shared.soon(1)).toBe('one')
  expect(asked()).toBe(2)
  const soon = shared.soon(10_000)
  await answer('two')
  expect(await soon).toBe('two')
})

test('a failure is told to who waits for it, and the next one asks anew', async () => {
  let isBroken = true
  const shared = new Shared(
    () => (isBroken ? Promise.reject(new Error('away')) : Promise.resolve('here')),
    60_000,
  )
  await expect(shared.soon(10_000)).rejects.toThrow('away')
  isBroken = false
  expect(await shared.soon(10_000)).toBe('here')
})
