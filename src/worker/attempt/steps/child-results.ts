import { StintError } from '../../../core/errors.ts'
import { peek } from '../../../core/failures/thrown.ts'
import { byteLength } from '../../../core/json/utf8.ts'
import type { ChildOutput } from '../../../flows/children/children.ts'
import type { Ending } from '../../../jobs/follow/look.ts'
import type { Ended, EndedError } from './child-options.ts'
import type { ChildStore } from './child-store.ts'

/** Children of one call, as its record names them. */
export interface ChildSet {
  flow: string
  size: number
  /** Of the only child, where one was made. */
  id?: string
}

/** What the handler was told when its wait was over. */
export interface Seen {
  failed?: object
}

/** Results that one call returns. */
export const mostResultBytes = 16 * 1024 * 1024

/** How each child ended, in the order of the sets and their inputs, read page by page. */
export async function* readOutputs(
  store: Pick<ChildStore, 'outputs'>,
  sets: readonly ChildSet[],
): AsyncGenerator<{ ended: Ended<unknown>; bytes: number }> {
  const flows = sets.map(({ flow }) => flow)
  let [place, member] = [0, -1]
  const lost = function* (
    toPlace: number,
    toMember: number,
  ): Generator<{ ended: Ended<unknown>; bytes: number }> {
    // A row that was deleted by hand left no output.
    for (; place <= toPlace; place++, member = -1) {
      const set = sets[place]
      const end = place === toPlace ? toMember : (set?.size ?? 0)
      while (++member < end) yield { ended: { state: 'cancelled', id: set?.id ?? '' }, bytes: 0 }
      if (place === toPlace) return
    }
  }
  for (let at = { place: -1, member: -1 }; ;) {
    const page = await store.outputs({ flows, ...at })
    for (const output of page) {
      yield* lost(output.place, output.member)
      yield { ended: endedChild(output), bytes: output.result === null ? 0 : byteLength(output.result) }
      member = output.member
    }
    const last = page.at(-1)
    if (last === undefined) break
    at = { place: last.place, member: last.member }
  }
  yield* lost(sets.length, 0)
}

export async function readAll(
  store: Pick<ChildStore, 'outputs'>,
  sets: readonly ChildSet[],
  kinds: string,
): Promise<Ended<unknown>[]> {
  const all: Ended<unknown>[] = []
  let sum = 0
  for await (const { ended, bytes } of readOutputs(store, sets)) {
    sum += bytes
    if (sum > mostResultBytes) throw resultsTooLarge(sum, `children of '${kinds}'`)
    all.push(ended)
  }
  return all
}

function endedChild({ id, state, result, error }: ChildOutput): Ended<unknown> {
  if (state === 'succeeded')
    return { state, id, result: result === null ? undefined : (JSON.parse(result) as unknown) }
  return state === 'dead' ? { state, id, error: errorOf(error) } : { state: 'cancelled', id }
}

/** Of a job that was waited for by its id. */
export function endedOf({ id, state, result, error }: Ending): Ended<unknown> {
  if (state === 'succeeded') return { state, id, result: result ?? undefined }
  return state === 'dead' ? { state, id, error: errorOf(error) } : { state, id }
}

function errorOf(stored: unknown): EndedError {
  const [name, message, code] = [peek(stored, 'name'), peek(stored, 'message'), peek(stored, 'code')]
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : 'no message was stored',
    ...(typeof code === 'string' ? { code } : {}),
  }
}

/** The error for a child that failed, from what was recorded of it. */
export function lookFailure(failed: object, kinds: string): StintError {
  const id = peek(failed, 'id')
  const child = typeof id === 'string' ? `Child ${id} of '${kinds}'` : `A child of '${kinds}'`
  const jobIds = typeof id === 'string' ? [id] : []
  const otherwise = `Use onDead: 'collect' or 'ignore' to go on without it.`
  if (peek(failed, 'state') !== 'dead')
    return new StintError('child-cancelled', `${child} was cancelled. ${otherwise}`, { jobIds })
  const { name, message } = errorOf(peek(failed, 'error'))
  return new StintError('child-dead', `${child} is dead: ${name}: ${message}. ${otherwise}`, { jobIds })
}

export function resultsTooLarge(bytes: number, what: string): StintError {
  return new StintError(
    'results-too-large',
    `The results of these ${what} have more than 16 MiB (${bytes.toLocaleString('en')} bytes so far). Use ctx.spawnAll(), and read its results() one by one; or let them store what they make elsewhere and return references.`,
  )
}
