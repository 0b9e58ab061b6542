import type { StandardSchemaV1 } from '@standard-schema/spec'
import { StintError } from '../core/errors.ts'
import type { Issue } from '../core/errors.ts'
import { copyJson, isPlainName } from '../core/json/json.ts'
import { withoutStop } from '../core/failures/thrown.ts'
import { byteLength } from '../core/json/utf8.ts'
import { checkContract } from './check-contract.ts'
import type { JobContract } from './contract.ts'

/** An input that may be stored: as JSON text, and as the schema sees it. */
export interface CheckedInput<Parsed> {
  text: string
  bytes: number
  parsed: Parsed
}

/** The size limit of an input in a job's row. */
export const maxInputBytes = 256 * 1024
const maxDepth = 100
const maxIssues = 20

/**
 * Checks an input before anything is sent.
 *
 * It is turned into JSON first and validated then, so the schema sees exactly what a worker will see: a Date has
 * become a string here, not only over there. What is stored is the input, not the schema's output; the worker
 * validates again, and so gets defaults and transformations.
 */
export function checkInput<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  input: unknown,
  maxBytes: number = maxInputBytes,
): CheckedInput<Parsed> | Promise<CheckedInput<Parsed>> {
  checkContract(contract)
  const limits = { maxDepth, maxCharacters: maxBytes * 2, maxIssues }
  // A job without an input has null: `undefined` is how TypeScript says that there is none.
  const copy = copyJson(
    input === undefined && contract.inputSchema === undefined ? null : input,
    'input',
    limits,
  )
  if (!copy.ok) {
    if (copy.characters !== undefined)
      throw tooLarge(contract.kind, `more than ${shown(copy.characters)} characters`, maxBytes)
    throw invalidInput(contract.kind, copy.issues, 'new')
  }
  const text = JSON.stringify(copy.value)
  const bytes = byteLength(text)
  if (bytes > maxBytes) throw tooLarge(contract.kind, `${shown(bytes)} bytes`, maxBytes)
  const parsed = validate<Parsed>(contract, copy.value, 'new')
  return parsed instanceof Promise
    ? parsed.then((value) => ({ text, bytes, parsed: value }))
    : { text, bytes, parsed }
}

/**
 * Brings a stored input to the contract's version and validates it: what a handler gets. Returns a promise only where there is
 * something to wait for, because promises are a good part of what an attempt costs.
 */
export function readInput<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  stored: { version: number; input: unknown },
): Parsed | Promise<Parsed> {
  return stored.version === contract.version
    ? validate<Parsed>(contract, stored.input, 'stored')
    : readOtherVersion(contract, stored)
}

async function readOtherVersion<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  stored: { version: number; input: unknown },
): Promise<Parsed> {
  if (stored.version > contract.version) {
    throw new StintError(
      'contract-mismatch',
      `Expected an input of '${contract.kind}' up to version ${contract.version}, got version ${stored.version}: ` +
        'it was enqueued by newer code; deploy that code here.',
    )
  }
  let input = stored.input
  for (let version = stored.version; version < contract.version; version++) {
    const step = contract.upcast.get(version)
    if (step === undefined) {
      throw new StintError(
        'contract-mismatch',
        `No upcast from version ${version} of '${contract.kind}': add \`upcast: { ${version}: (old) => … }\` to its contract.`,
      )
    }
    input = await step(input)
  }
  return validate<Parsed>(contract, input, 'stored')
}

function validate<Parsed>(
  contract: JobContract<string, unknown, Parsed>,
  value: unknown,
  which: 'new' | 'stored',
): Parsed | Promise<Parsed> {
  const schema = contract.inputSchema
  if (schema === undefined) return value as Parsed
  const result = schema['~standard'].validate(value)
  const read = (settled: StandardSchemaV1.Result<Parsed>): Parsed => {
    if (settled.issues === undefined) return settled.value
    throw invalidInput(contract.kind, settled.issues.slice(0, maxIssues).map(toIssue), which)
  }
  return result instanceof Promise ? result.then(read) : read(result)
}

function toIssue({ path = [], message }: StandardSchemaV1.Issue): Issue {
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step))
  return { path: steps.reduce<string>(appendStep, 'input'), message }
}

function appendStep(path: string, step: PropertyKey): string {
  if (typeof step === 'number') return `${path}[${step}]`
  const name = String(step)
  return isPlainName(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`
}

function invalidInput(kind: string, issues: readonly Issue[], which: 'new' | 'stored'): StintError {
  const [first, ...others] = issues
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  const what = first === undefined ? 'it cannot be read' : `${first.path} ${first.message}${more}`
  const outcome = which === 'new' ? 'It was not stored.' : 'It was stored by other code than this.'
  return new StintError('invalid-input', `Invalid input for '${kind}': ${withoutStop(what)}. ${outcome}`, {
    issues,
  })
}

function tooLarge(kind: string, size: string, maxBytes: number): StintError {
  return new StintError(
    'invalid-input',
    `Invalid input for '${kind}': it is ${size} of JSON, at most ${shown(maxBytes)} bytes fit. ` +
      'Store it elsewhere and pass a reference, or give the client a blob store (`blobs`). It was not stored.',
    { issues: [{ path: 'input', message: `is ${size}, at most ${shown(maxBytes)} bytes fit` }] },
  )
}

function shown(count: number): string {
  return count.toLocaleString('en')
}
