import { fromKey, readings } from '../../contracts/flow-references.ts'
import type { Reading } from '../../contracts/flow-references.ts'
import { StintError } from '../../core/errors.ts'
import type { NodeOutput, Outputs } from './outputs.ts'

interface FoundReference {
  node: string
  path: readonly string[]
  as: Reading
}

/** The nodes that a stored input refers to. */
export function nodesIn(input: unknown): string[] {
  const nodes = new Set<string>()
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const reference = referenceIn(value)
    if (reference !== undefined) nodes.add(reference.node)
    else for (const item of Object.values(value)) walk(item)
  }
  walk(input)
  return [...nodes]
}

/**
 * A stored input with outputs in the place of its references. A field that an output does not have is left out of an object,
 * and is null elsewhere. Throws `contract-mismatch` where a node has left nothing that can be read.
 */
export function putIn(input: unknown, outputs: Outputs): unknown {
  return filled(input, outputs) ?? null
}

function filled(value: unknown, outputs: Outputs): unknown {
  if (typeof value !== 'object' || value === null) return value
  const reference = referenceIn(value)
  if (reference !== undefined) return valueOf(reference, outputs)
  if (Array.isArray(value)) return value.map((item) => filled(item, outputs) ?? null)
  const entries = Object.entries(value).map(([name, item]) => [name, filled(item, outputs)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}

/** Rows are input: what has not the form of a reference stays as it is. */
function referenceIn(value: object): FoundReference | undefined {
  if (!Object.hasOwn(value, fromKey)) return undefined
  const { [fromKey]: from, as = 'output' } = value as { [fromKey]?: unknown; as?: unknown }
  if (!Array.isArray(from) || !from.every((part) => typeof part === 'string')) return undefined
  const [node, ...path] = from
  const reading = readings.find((one) => one === as)
  return node === undefined || reading === undefined ? undefined : { node, path, as: reading }
}

function valueOf({ node, path, as }: FoundReference, outputs: Outputs): unknown {
  const all = outputs.get(node)
  if (all === undefined) throw unreadable(node, 'which its flow does not have')
  const [first] = all
  switch (as) {
    case 'outputs':
      return at(
        all.map((one) => resultOf(one, node)),
        path,
      )
    case 'ends':
      return at(all.map(endOf), path)
    case 'output':
      if (first === undefined) throw unreadable(node, 'which has left no result')
      return at(resultOf(first, node), path)
    case 'end':
      if (first === undefined) throw unreadable(node, 'which has not ended')
      return at(endOf(first), path)
  }
}

function resultOf({ state, result }: NodeOutput, node: string): unknown {
  if (state !== 'succeeded') throw unreadable(node, `which is ${state} and has no result`)
  return result
}

/** What `Ended` of the contracts says. */
function endOf({ state, result, error }: NodeOutput): object {
  if (state === 'succeeded') return { state, result }
  if (state !== 'dead') return { state: 'cancelled' }
  const { name, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >
  return { state, error: { name: textOf(name, 'Error'), message: textOf(message, '') } }
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

function at(value: unknown, path: readonly string[]): unknown {
  let part = value
  for (const name of path) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return undefined
    part = (part as Record<string, unknown>)[name]
  }
  return part
}

function unreadable(node: string, why: string): StintError {
  return new StintError('contract-mismatch', `The input refers to node '${node}', ${why}.`)
}
