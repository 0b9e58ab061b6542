import { isPerhapsOneRow } from '../../../db/classify.ts'
import { run } from '../../../db/statement.ts'
import type { Queryable } from '../../../db/statement.ts'
import { batchSize } from './batches.ts'
import { pruneDaySql } from './prune-day.sql.ts'
import type { ServiceContext } from '../service.ts'
import { shortKeptSql } from './short-kept.sql.ts'

interface Walk {
  kept: string
  dayTable: string
}

/** Pages that one statement reads: 8 MB. */
const pagesAtOnce = 1_024
/**
 * Rows that were added to pages behind the walk (a late commit, space freed by vacuum) are found when it begins again.
 */
const forgetAfterMs = 6 * 3_600_000
const mostBad = 20

/**
 * Removes finished jobs of queues that keep theirs for a shorter time than the longest; finished jobs with the longest
 * time are dropped with their day.
 *
 * It walks through the pages of a day, once for each such time. It remembers how far it got: before that position no
 * row is left that could become old. Another process, or this one tomorrow, begins at the first page; that only costs
 * reading.
 */
export class ShortKept {
  readonly #pages = new Map<string, number>()
  #forgetAt = performance.now() + forgetAfterMs

  async prune(db: Queryable, context: ServiceContext): Promise<void> {
    if (performance.now() > this.#forgetAt) {
      this.#pages.clear()
      this.#forgetAt = performance.now() + forgetAfterMs
    }
    const walks = await run(db, shortKeptSql, {}, (row: Walk) => row)
    const names = new Set(walks.map(nameOf))
    for (const name of this.#pages.keys()) if (!names.has(name)) this.#pages.delete(name)
    for (const walk of walks) await this.#walk(db, walk, context)
  }

  async #walk(db: Queryable, walk: Walk, { signal, onPassedBy }: ServiceContext): Promise<void> {
    const name = nameOf(walk)
    let fromPage = this.#pages.get(name) ?? 0
    let pages = pagesAtOnce
    let isClean = true
    let bad = 0
    while (!signal.aborted) {
      let found: { removed: number; isHeld: boolean; isEnd: boolean }
      try {
        found = await this.#pruneSome(db, { ...walk, fromPage, pages })
      } catch (error) {
        if (!isPerhapsOneRow(error) || bad >= mostBad) throw error
        if (pages > 1) {
          pages = Math.ceil(pages / 2)
          continue
        }
        // The page of the row that fails: skipped, and read again when the walk begins again.
        onPassedBy(`page ${fromPage} of '${walk.dayTable}'`, error)
        bad++
        fromPage++
        pages = pagesAtOnce
        continue
      }
      if (found.removed === batchSize) continue
      if (found.isHeld) isClean = false
      // The last pages may still get new rows.
      if (found.isEnd) return
      fromPage += pages
      pages = pagesAtOnce
      if (isClean) this.#pages.set(name, fromPage)
      // Days are in order of time: the following ones are younger.
      else return
    }
  }

  async #pruneSome(
    db: Queryable,
    part: Walk & { fromPage: number; pages: number },
  ): Promise<{ removed: number; isHeld: boolean; isEnd: boolean }> {
    type Row = { removed: number; isHeld: boolean; isEnd: boolean }
    const [row] = await run(db, pruneDaySql, { ...part, most: batchSize }, (found: Row) => found)
    return row ?? { removed: 0, isHeld: false, isEnd: true }
  }
}

function nameOf({ kept, dayTable }: Walk): string {
  return `${dayTable} ${kept}`
}
