import type { Caller } from '../auth/caller.ts'
import type { Cursors } from '../http/cursors.ts'

export interface VisiblePageRequest<Item> {
  caller: Pick<Caller, 'isNarrowed'>
  cursors: Cursors
  cursor: string | undefined
  /** Items that the caller asked for. */
  limit: number
  /** Rows that can be read at once. */
  most: number
  read: (cursor: string | undefined, limit: number) => Promise<{ items: Item[]; next: string | undefined }>
  /** Those of them that the caller may see. */
  visible: (items: Item[]) => Item[] | Promise<Item[]>
}

export interface VisiblePage<Item> {
  items: Item[]
  next: string | undefined
  /** It found a whole page or looked through all there is; otherwise it stopped at its limit. */
  isComplete: boolean
}

/** So far it looks for one page. */
const mostReads = 10
const mostMs = 300

/**
 * A page of what a caller may see. It is filled with rows from below those that are hidden, so that neither its length nor
 * its cursor tells of them; after a bounded search it ends early, with a cursor that is encrypted.
 */
export async function visiblePage<Item extends { id: string }>(
  request: VisiblePageRequest<Item>,
): Promise<VisiblePage<Item>> {
  const { caller, cursors, cursor, limit, most, read, visible } = request
  // Nothing is hidden from this caller: the page is what is read.
  if (caller.isNarrowed === false) return { ...(await read(cursor, limit)), isComplete: true }
  const giveUpAt = performance.now() + mostMs
  const items: Item[] = []
  let below = cursor === undefined ? undefined : await cursors.open(cursor)
  for (let reads = 1; ; reads++) {
    const page = await read(below, most)
    items.push(...(await visible(page.items)))
    below = page.next
    const isOver = reads >= mostReads || performance.now() > giveUpAt
    // One more than was asked for: only then it is known that another page has something to show.
    if (items.length > limit || (items.length === limit && below !== undefined && isOver))
      return { items: items.slice(0, limit), next: items[limit - 1]?.id, isComplete: true }
    if (below === undefined) return { items, next: undefined, isComplete: true }
    if (isOver) return { items, next: await cursors.seal(below), isComplete: false }
  }
}
