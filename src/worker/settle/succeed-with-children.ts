import type { Queryable } from '../../db/statement.ts'
import { refusalOf } from '../../jobs/new/refusal.ts'
import { sendBatch } from '../../jobs/new/send-batch.ts'
import { succeed } from '../../jobs/settle.ts'
import type { Child, Ended } from '../attempt/outcome.ts'
import { isLinked, leasesOf, resultsOf } from './items.ts'
import { storeLinked } from './linked.ts'

/**
 * Completes a job and stores its children in one transaction; stores nothing if the lease is gone. If a child is
 * refused, it throws an error that `isRefusal` recognises: the transaction has to be rolled back.
 */
export async function succeedIn(tx: Queryable, ended: Ended): Promise<string[]> {
  const moved = isLinked(ended)
    ? await storeLinked(tx, [ended], null)
    : await succeed(tx, { ...leasesOf([ended]), lockMs: null, results: resultsOf([ended]) })
  const children = ended.outcome.type === 'succeeded' ? ended.outcome.children : []
  if (moved.length > 0 && children.length > 0) await storeChildren(tx, children)
  return moved
}

/**
 * Notes for each child how it was stored. Throws if its rule says that a duplicate is an error: then nothing is stored.
 */
async function storeChildren(tx: Queryable, children: readonly Child[]): Promise<void> {
  const answers = await sendBatch(tx, children, false)
  for (const [index, child] of children.entries()) {
    const placed = answers[index]
    const refusal = placed && refusalOf(child, placed)
    if (refusal !== undefined) throw refusal
    if (placed !== undefined) child.placed = placed
  }
}
