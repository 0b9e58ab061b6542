import { putInput } from '../blobs/input-blob.ts'
import type { InputBlob } from '../blobs/input-blob.ts'
import type { BlobStore } from '../blobs/store.ts'
import type { JobContract } from '../../contracts/contract.ts'
import { checkInput, maxInputBytes } from '../../contracts/input.ts'
import type { CheckedInput } from '../../contracts/input.ts'
import { isStintError, StintError } from '../../core/errors.ts'
import type { NewJob, SimpleMembers } from '../enqueue.ts'
import { resolveJob } from './enqueue-options.ts'
import type { JobOptions, Lineage, Members } from './enqueue-options.ts'
import { nextId } from './ids.ts'

/** Which inputs are stored in a blob store, and in which one. */
export interface BlobConfig {
  store: BlobStore
  thresholdBytes: number
  maxBytes: number
}

/** A job that is ready to be sent, and what its caller gets back. */
export interface PreparedJob {
  job: NewJob
  queue: string
  kind: string
  bytes: number
  blob: InputBlob | undefined
  /** Where workers find it; jobs with the same hint share the object. */
  hint: JobHint
}

export interface JobHint {
  readonly queue: string
  readonly priority: number
  readonly keyed: boolean
  readonly key: string | undefined
  /** When it falls due from now; 0 when it is ready. */
  readonly inMs: number
}

/** Checks everything about one job and gives it its id. Nothing has been sent when this throws. */
export function prepareJob<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  input: unknown,
  options: JobOptions,
  blobs: BlobConfig | undefined,
  lineage?: Lineage,
): PreparedJob | Promise<PreparedJob> {
  const checked = checkInput(contract, input, blobs?.maxBytes ?? maxInputBytes)
  const finish = (settled: CheckedInput<Parsed>): PreparedJob | Promise<PreparedJob> =>
    assemble(settled, textsOf(contract, settled.parsed, options, lineage), contract.kind, blobs)
  return checked instanceof Promise ? checked.then(finish) : finish(checked)
}

function assemble(
  { text, bytes }: CheckedInput<unknown>,
  { queue, members, deciding, simple, hint }: JobTexts,
  kind: string,
  blobs: BlobConfig | undefined,
): PreparedJob | Promise<PreparedJob> {
  const id = nextId()
  const prepared = {
    job: { id, members, deciding, simple, input: text },
    queue,
    kind,
    bytes,
    blob: undefined,
    hint,
  }
  if (blobs === undefined || bytes <= blobs.thresholdBytes) return prepared
  return putInput(blobs.store, id, text).then((blob) => ({
    ...prepared,
    job: {
      ...prepared.job,
      deciding: `${deciding},"inputBlob":${JSON.stringify(blob.key)},"inputDigest":"${blob.digest}"`,
      input: 'null',
    },
    blob,
  }))
}

interface JobTexts {
  queue: string
  members: string
  deciding: string
  simple: SimpleMembers | undefined
  hint: JobHint
}

/** Contracts whose jobs differ only in id and input: their texts are made once. */
const constantTexts = new WeakMap<object, JobTexts>()

function textsOf<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  parsed: Parsed,
  options: JobOptions,
  lineage: Lineage | undefined,
): JobTexts {
  if (lineage !== undefined) return makeTexts(contract, parsed, options, lineage)
  for (const name in options) {
    if (options[name as keyof JobOptions] !== undefined) return makeTexts(contract, parsed, options)
  }
  const dependsOnInput =
    contract.keyOf !== undefined ||
    contract.uniqueBy !== undefined ||
    contract.searchOf !== undefined ||
    contract.costOf !== undefined
  if (dependsOnInput) return makeTexts(contract, parsed, options)
  let texts = constantTexts.get(contract)
  if (texts === undefined) constantTexts.set(contract, (texts = makeTexts(contract, parsed, options)))
  return texts
}

function makeTexts<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  parsed: Parsed,
  options: JobOptions,
  { fireAt, references, ...lineage }: Lineage = {},
): JobTexts {
  const resolved = asInvalidInput(contract.kind, () => resolveJob(contract, parsed, options))
  const { deciding } = resolved
  const members = { ...resolved.members, ...lineage }
  if (fireAt !== undefined || references !== undefined)
    members.options = { ...members.options, fireAt, references }
  return {
    queue: members.queue,
    members: membersText(members),
    deciding: prefixed(membersText(deciding)),
    simple: simpleOf(members),
    hint: {
      queue: members.queue,
      priority: members.priority,
      keyed: members.key !== undefined,
      key: members.key,
      inMs:
        members.delayMs ??
        (members.runAt === undefined ? 0 : Math.max(0, Date.parse(members.runAt) - Date.now())),
    },
  }
}

function simpleOf(members: Members): SimpleMembers | undefined {
  const { queue, kind, key, priority, maxAttempts, version, ...rest } = members
  if (Object.values(rest).some((value) => value !== undefined)) return undefined
  const numbers = { priority: String(priority), maxAttempts: String(maxAttempts), version: String(version) }
  return { queue, kind, key: key ?? null, ...numbers }
}

/** `"queue":"media","kind":"image.resize"`; undefined members are left out. */
function membersText(members: Members | object): string {
  return JSON.stringify(members).slice(1, -1)
}

function prefixed(text: string): string {
  return text === '' ? '' : `,${text}`
}

/** For the caller of enqueue(), options are input too: any bad argument has the same error code, with its path. */
export function asInvalidInput<Result>(kind: string, check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    if (!isStintError(error, 'invalid-option')) throw error
    throw new StintError(
      'invalid-input',
      `Invalid options for '${kind}': ${error.message} It was not stored.`,
      {
        cause: error,
        issues: error.issues.map(({ path, message }) => ({ path: `options.${path}`, message })),
      },
    )
  }
}
