import { expect, test } from 'vitest'
import { DeadlineError, markUnsent } from '../../db/classify.ts'
import { deliver } from './deliver.ts'

const broken = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/**
 * Each send fails with the next of these failures, and succeeds once none is left. The time limit is over from the start.
 */
function lateDelivery(...failures: readonly Error[]): { sent: boolean[]; answer: Promise<string> } {
  const sent: boolean[] = []
  const left = [...failures]
  const answer = deliver({ schema: 'stint', timeoutMs: 0 }, (isRepeat) => {
    sent.push(isRepeat)
    const failure = left.shift()
    return failure === undefined ? Promise.resolve('done') : Promise.reject(failure)
  })
  return { sent, answer }
}

test('a call that loses the answer with its connection is sent once more, even after its time limit', async () => {
  const { sent, answer } = lateDelivery(broken())
  expect(await answer).toBe('done')
  expect(sent).toEqual([false, true])
})

test('a call that loses the answer twice after its time limit is not sent a third time', async () => {
  const { sent, answer } = lateDelivery(broken(), broken())
  await expect(answer).rejects.toMatchObject({ code: 'database-unavailable' })
  expect(sent).toEqual([false, true])
})

test.each([
  ['was not answered in time', new DeadlineError(100)],
  ['was never sent', markUnsent(broken())],
])('a call that %s is not repeated after its time limit', async (_, failure) => {
  const { sent, answer } = lateDelivery(failure)
  await expect(answer).rejects.toMatchObject({ code: 'database-unavailable' })
  expect(sent).toEqual([false])
})
