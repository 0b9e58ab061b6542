import type { Caller } from '../auth/caller.ts'
import type { Cursors } from '../http/cursors.ts'

export interface VisiblePageRequest<Item> {
  caller: Pick<Caller, 'isNarrowed'>
  cursors: Cursors
  cursor: string | undefined
  /** Items per page, as the caller asked. */
  limit: number
  /** Rows that one read returns at most. */
  most: number
  read: (cursor: string | undefined, limit: number) => Promise<{ items: Item[]; next: string | undefined }>
  /** Filters items to those that the caller may see. */
  visible: (items: Item[]) => Item[] | Promise<Item[]>
}

export interface VisiblePage<Item> {
  items: Item[]
  next: string | undefined
  /** The page is full, or all rows were read. False if the search stopped at its limit. */
  isComplete: boolean
}

/** Limits of the search for one page. */
const mostReads = 10
const mostMs = 300

/**
 * A page of the items that a caller may see. It skips hidden rows and reads on until the page is full, so that neither its
 * length nor its cursor reveals them. When the search reaches its limit, the page ends early with an encrypted cursor.
 */
export async function visiblePage<Item extends { id: string }>(
  request: VisiblePageRequest<Item>,
): Promise<VisiblePage<Item>> {
  const { caller, cursors, cursor, limit, most, read, visible } = request
  // Nothing is hidden from this caller: the page is the read itself.
  if (caller.isNarrowed === false) return { ...(await read(cursor, limit)), isComplete: true }
  const giveUpAt = performance.now() + mostMs
  const items: Item[] = []
  let below = cursor === undefined ? undefined : await cursors.open(cursor)
  for (let reads = 1; ; reads++) {
    const page = await read(below, most)
    items.push(...(await visible(page.items)))
    below = page.next
    const isOver = reads >= mostReads || performance.now() > giveUpAt
    // One item more than asked for proves that another page has something to show.
    if (items.length > limit || (items.length === limit && below !== undefined && isOver))
      return { items: items.slice(0, limit), next: items[limit - 1]?.id, isComplete: true }
    if (below === undefined) return { items, next: undefined, isComplete: true }
    if (isOver) return { items, next: await cursors.seal(below), isComplete: false }
  }
}
