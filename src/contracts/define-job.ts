import type { StandardSchemaV1 } from '@standard-schema/spec'
import { StintError } from '../core/errors.ts'
import { nameOption } from '../core/names.ts'
import {
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../core/options.ts'
import { priorityRange } from '../core/priority.ts'
import { conflictPolicies } from './contract.ts'
import type { JobContract, JobDefinition, UniqueOptions, UniqueRule, Upcasters } from './contract.ts'
import { resolveRetry } from './retry.ts'

const known = [
  ...['kind', 'queue', 'input', 'output', 'version', 'upcast', 'priority', 'retry', 'timeout', 'deadline'],
  ...['key', 'unique', 'search', 'order', 'hold', 'rates', 'cost', 'breakers', 'redact'],
]

/** Defines a kind of job, for producers and workers to share. */
export function defineJob<
  const Kind extends string,
  InputSchema extends StandardSchemaV1 = StandardSchemaV1,
  OutputSchema extends StandardSchemaV1 = StandardSchemaV1,
>(
  definition: JobDefinition<Kind, InputSchema, OutputSchema>,
): JobContract<
  Kind,
  StandardSchemaV1.InferInput<InputSchema>,
  StandardSchemaV1.InferOutput<InputSchema>,
  StandardSchemaV1.InferOutput<OutputSchema>
> {
  type Parsed = StandardSchemaV1.InferOutput<InputSchema>
  const {
    kind,
    queue = 'default',
    input,
    output,
    version = 1,
    upcast = {},
    priority = 0,
    retry,
    ...more
  } = definition
  const { timeout = '5m', deadline, key, unique, search, redact = [], ...flow } = more
  const { order, hold, rates = [], cost, breakers = [], ...rest } = flow
  rejectUnknown(`defineJob('${kind}')`, rest, known)
  nameOption('kind', kind)
  const { by, ...uniqueOptions } = unique ?? {}
  return Object.freeze({
    kind,
    queue: nameOption('queue', queue),
    version: integerOption('version', version, { min: 1, max: 32_767 }),
    priority: priorityOption(priority),
    retry: resolveRetry(retry),
    timeoutMs: durationOption('timeout', timeout, { minMs: 1 }),
    deadlineMs: deadline === undefined ? undefined : durationOption('deadline', deadline, { minMs: 1 }),
    inputSchema: schemaOption('input', input) as StandardSchemaV1<
      StandardSchemaV1.InferInput<InputSchema>,
      Parsed
    >,
    outputSchema: schemaOption('output', output) as StandardSchemaV1<
      unknown,
      StandardSchemaV1.InferOutput<OutputSchema>
    >,
    upcast: resolveUpcast(upcast, version),
    ...(key === undefined ? {} : { keyOf: functionOption('key', key) }),
    ...(by === undefined ? {} : { uniqueBy: functionOption('unique.by', by) }),
    unique: unique === undefined ? undefined : resolveUnique(uniqueOptions, 'by'),
    ...(search === undefined ? {} : { searchOf: functionOption('search', search) }),
    ...(cost === undefined ? {} : { costOf: functionOption('cost', cost) }),
    ordered: orderOption({ order, hold, hasKey: key !== undefined, priority }),
    rates: namesOption('rates', rates),
    breakers: namesOption('breakers', breakers),
    redact: redactOption(redact),
  })
}

function orderOption({
  order,
  hold,
  hasKey,
  priority,
}: {
  order: unknown
  hold: unknown
  hasKey: boolean
  priority: number
}): JobContract['ordered'] {
  if (order === undefined) {
    if (hold !== undefined) throw invalidOption('hold', "left out unless `order` is 'key'", hold)
    return undefined
  }
  oneOfOption('order', order, ['key'])
  if (!hasKey) throw invalidOption('order', 'left out unless `key` is given', order)
  if (priority !== 0) throw invalidOption('priority', 'left out with `order`', priority)
  return hold === undefined || booleanOption('hold', hold) ? 'hold' : 'pass'
}

const mostNames = 20

function namesOption(option: string, names: unknown): readonly string[] {
  if (!Array.isArray(names) || names.length > mostNames || new Set(names).size < names.length)
    throw invalidOption(option, `a list of at most ${mostNames} different names`, names)
  return Object.freeze(names.map((name: unknown, index) => nameOption(`${option}[${index}]`, name)))
}

/** A Standard Schema that checks nothing: `output: typed<{ url: string }>()`. */
export function typed<Type>(): StandardSchemaV1<Type> {
  return { '~standard': { version: 1, vendor: 'stint', validate: (value) => ({ value: value as Type }) } }
}

export function priorityOption(priority: unknown): number {
  return integerOption('priority', priority, priorityRange)
}

/** `own` are the further options: `by` in a contract, `key` in a call. */
export function resolveUnique(
  { until, for: hold, onConflict = 'keep', ...rest }: UniqueOptions,
  own: 'by' | 'key',
): UniqueRule {
  rejectUnknown(
    own === 'by' ? 'unique in a contract' : 'unique in a call',
    rest,
    [own, 'until', 'for', 'onConflict'],
    'unique.',
  )
  if (until !== undefined && hold !== undefined) {
    throw new StintError('invalid-option', 'Expected `unique` to have `until` or `for`, not both.', {
      issues: [{ path: 'unique', message: 'has both until and for' }],
    })
  }
  return Object.freeze({
    until:
      hold === undefined
        ? oneOfOption('unique.until', until ?? 'finished', ['started', 'finished'])
        : undefined,
    forMs: hold === undefined ? undefined : durationOption('unique.for', hold, { minMs: 1 }),
    onConflict: oneOfOption('unique.onConflict', onConflict, conflictPolicies),
  })
}

/** Versions without a gap up to the current one: an input that cannot reach it would be refused by every worker. */
function resolveUpcast(upcast: Upcasters, version: number): ReadonlyMap<number, (input: unknown) => unknown> {
  const steps = Object.entries(upcast).map(([from, step]) => [Number(from), step] as const)
  steps.sort(([a], [b]) => a - b)
  for (const [index, [from, step]] of steps.entries()) {
    const expected = version - steps.length + index
    if (from !== expected || expected < 1) {
      throw new StintError(
        'invalid-option',
        `Expected \`upcast\` to lead from the oldest version you support to ${version} without a gap; ` +
          `got ${steps.map(([step]) => step).join(', ')} for version ${version}.`,
        { issues: [{ path: 'upcast', message: `does not lead to version ${version} without a gap` }] },
      )
    }
    functionOption(`upcast[${from}]`, step)
  }
  return new Map(steps as [number, (input: unknown) => unknown][])
}

const mostRedacted = 50
/** Names with dots between them, each with `[]` behind it where it is a list: `items[].card.number`. */
const redactPattern = /^(?:\[\]|[^.[\]]+(?:\[\])*)(?:\[\])*(?:\.[^.[\]]+(?:\[\])*)*$/

function redactOption(paths: unknown): readonly string[] {
  if (!Array.isArray(paths) || paths.length > mostRedacted)
    throw invalidOption('redact', `a list of at most ${mostRedacted} paths`, paths)
  return Object.freeze(
    paths.map((path: unknown, index) => {
      if (typeof path === 'string' && path.length <= 500 && redactPattern.test(path)) return path
      throw invalidOption(`redact[${index}]`, "a path such as 'card.number' or 'items[].token'", path)
    }),
  )
}

function schemaOption(name: string, schema: unknown): unknown {
  if (schema === undefined) return undefined
  const isSchema = (typeof schema === 'object' && schema !== null) || typeof schema === 'function'
  if (isSchema && '~standard' in schema) return schema
  throw invalidOption(name, 'a Standard Schema (zod 3.24+, valibot 1+, arktype 2+ …)', schema)
}
