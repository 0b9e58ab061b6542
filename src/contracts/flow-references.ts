import { StintError } from '../core/errors.ts'
import type { Stored } from '../core/json/stored.ts'

/*
 * References: values of an input that another job of the flow will return.
 *
 * An input function gets a proxy for each node that it may read. Reading a field of it gives another proxy, so a reference is
 * a node and a path. In the stored input it is `{ "stint:from": ["reserve", "items"] }`, and `options` of the job say that its
 * input has references. Only then does a worker look for them, so a plain input may hold anything.
 */

declare const stands: unique symbol

/** Stands for a value in an input. */
export interface StandsFor<Value> {
  readonly [stands]: Value
}

type Scalar = string | number | boolean | null | undefined

/** A value that another job of the flow will return, or a part of it. */
export type Reference<Value> = Value extends Scalar
  ? StandsFor<Value>
  : Value extends readonly unknown[]
    ? StandsFor<Value> &
        (number extends Value['length']
          ? { readonly [index: number]: Reference<Value[number]> }
          : { readonly [Index in Exclude<keyof Value, keyof []>]: Reference<Value[Index]> })
    : Value extends object
      ? StandsFor<Value> & { readonly [Name in keyof Value]-?: Reference<Value[Name]> }
      : StandsFor<Value>

/** A value in which references may stand for all parts. */
export type Referable<Value> =
  | Value
  | StandsFor<Value>
  | (Value extends Scalar
      ? never
      : Value extends object
        ? { [Name in keyof Value]: Referable<Value[Name]> }
        : never)

/** How a job ended that may also die or be cancelled. */
export type Ended<Output> =
  | { state: 'succeeded'; result: Output }
  | { state: 'dead'; error: { name: string; message: string } }
  | { state: 'cancelled' }

export type When = 'succeeded' | 'ended' | 'dead'

/** What a builder knows of a node. */
export interface NodeType {
  input: unknown
  output: unknown
  isGroup: boolean
}

/** What a reference to a node stands for: of a group it is the list of its jobs, in the order of their inputs. */
export type ReferenceTo<Node extends NodeType, As> = Reference<
  Node['isGroup'] extends true ? One<Stored<Node['output']>, As>[] : One<Stored<Node['output']>, As>
>
type One<Output, As> = As extends 'ended' ? Ended<Output> : Output

/** What is read of a node: `output` of one job that succeeded, `end` of one that ended, and the same of all jobs of a group. */
export const readings = ['output', 'end', 'outputs', 'ends'] as const
export type Reading = (typeof readings)[number]

/** The name of the only member of a stored reference, besides `as` where it is not an output. */
export const fromKey = 'stint:from'

/** A reference as it is stored: the name of a node, and the way to a part of what it gives. */
export interface StoredReference {
  [fromKey]: [node: string, ...path: string[]]
  as?: Exclude<Reading, 'output'>
}

const referring = Symbol.for('stint.referring-input')

/** An input with references, and the nodes that they name. */
export class ReferringInput {
  readonly [referring] = true
  readonly value: unknown
  readonly nodes: ReadonlySet<string>

  constructor(value: unknown, nodes: ReadonlySet<string>) {
    this.value = value
    this.nodes = nodes
  }
}

/** Known by a symbol: the flow may come from another copy of the package. */
export function isReferring(input: unknown): input is ReferringInput {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, referring)
}

const references = new WeakMap<object, StoredReference>()

/** The reference to what a node gives. */
export function referenceTo(node: string, as: Reading): object {
  return proxyOf({ [fromKey]: [node], ...(as === 'output' ? {} : { as }) })
}

function proxyOf(reference: StoredReference): object {
  const misused = (): never => {
    throw new StintError(
      'invalid-input',
      `What the node '${reference[fromKey].join('.')}' gives is not known yet: it can be passed on as a part of an input, and nothing else.`,
      { issues: [{ path: 'input', message: 'reads a value that is not known yet' }] },
    )
  }
  const proxy = new Proxy(Object.freeze({}), {
    get: (_, name) => {
      if (name === Symbol.toPrimitive || name === Symbol.iterator || name === 'toJSON') return misused
      if (typeof name === 'symbol') return undefined
      const [node, ...path] = reference[fromKey]
      return proxyOf({ ...reference, [fromKey]: [node, ...path, name] })
    },
    ownKeys: misused,
  })
  references.set(proxy, reference)
  return proxy
}

/** An input with its references as they are stored; the input itself if it has none. */
export function withReferences(value: unknown, path = 'input'): unknown {
  const found = { nodes: new Set<string>(), likeOne: undefined as string | undefined }
  const copy = copyWith(value, { path, depth: 0, found })
  if (found.nodes.size === 0) return value
  if (found.likeOne !== undefined)
    throw new StintError(
      'invalid-input',
      `${found.likeOne} has the name '${fromKey}', which stands for a reference in an input that has references.`,
      { issues: [{ path: found.likeOne, message: `has the name '${fromKey}'` }] },
    )
  return new ReferringInput(copy, found.nodes)
}

interface Walk {
  path: string
  depth: number
  found: { nodes: Set<string>; likeOne: string | undefined }
}

/** Deeper inputs are refused when they are stored. */
const maxDepth = 100

/** Copies lists and plain objects; what JSON cannot hold is refused when it is stored. */
function copyWith(value: unknown, { path, depth, found }: Walk): unknown {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  const reference = references.get(value)
  if (reference !== undefined) {
    found.nodes.add(reference[fromKey][0])
    return reference
  }
  const inside = (name: string, item: unknown): unknown =>
    copyWith(item, { path: `${path}${name}`, depth: depth + 1, found })
  if (Array.isArray(value)) return value.map((item: unknown, index) => inside(`[${index}]`, item))
  const prototype: unknown = Object.getPrototypeOf(value)
  if ((prototype !== null && prototype !== Object.prototype) || 'toJSON' in value) return value
  if (Object.hasOwn(value, fromKey)) found.likeOne ??= path
  // As entries: a member named __proto__ stays data.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inside(`.${name}`, item)]))
}
