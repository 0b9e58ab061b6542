import { StintError } from '../core/errors.ts'
import type { Duration } from '../core/duration.ts'
import { nameOption } from '../core/names.ts'
import { invalidOption, oneOfOption, rejectUnknown } from '../core/options.ts'
import { checkContract } from './check-contract.ts'
import type { InputOf, JobContract, OutputOf, SearchTokens } from './contract.ts'
import { referenceTo, withReferences } from './flow-references.ts'
import type { NodeType, Referable, ReferenceTo, When } from './flow-references.ts'

export interface FlowOptions {
  /**
   * After the death of a job: `hold` keeps the nodes that need its success waiting for its replay, `skip` cancels them.
   *
   * @default 'hold'
   */
  onDead?: 'hold' | 'skip' | undefined
}

/** Options of the jobs of a node; a delay or deadline counts from when they may start. */
export interface FlowJobOptions {
  priority?: number | undefined
  delay?: Duration | undefined
  queue?: string | undefined
  /** The tenant or entity the jobs belong to. */
  key?: string | undefined
  attempts?: number | undefined
  timeout?: Duration | undefined
  deadline?: Duration | undefined
  search?: SearchTokens | undefined
  /** Switches the uniqueness of the contract off: a job of a flow cannot be unique. */
  unique?: false | undefined
}

const knownOptions = [
  ...['after', 'priority', 'delay', 'queue', 'key', 'attempts', 'timeout', 'deadline', 'search', 'unique'],
]

type NoNodes = object
type NameIn<Nodes> = keyof Nodes & string

/** One of these is enough, as `anyOf()` returns it. */
export interface AnyOf<Conditions = Readonly<Record<string, When>>> {
  readonly anyOf: Conditions
}

/** What a node waits for: names of nodes that have to succeed, or for each node what has to happen. */
type AfterOf<Nodes> =
  | readonly NameIn<Nodes>[]
  | { readonly [Name in keyof Nodes]?: When }
  | AnyOf<{ readonly [Name in keyof Nodes]?: When }>

/** Refuses names of nodes that do not exist: a type that is inferred may have more members than its bound. */
type Known<Nodes, After> = After extends readonly unknown[]
  ? unknown
  : After extends AnyOf<infer Conditions>
    ? { anyOf: OnlyKnown<Nodes, Conditions> }
    : OnlyKnown<Nodes, After>
type OnlyKnown<Nodes, Conditions> = {
  [Name in keyof Conditions]: Name extends keyof Nodes ? Conditions[Name] : never
}

/** Refuses a name that a node has already. */
type NewName<Nodes, Name> =
  string extends NameIn<Nodes> ? unknown : Name extends keyof Nodes ? never : unknown

/** The nodes that an input may refer to: those that have certainly ended, in a way that leaves something to read. */
type References<Nodes, After> = After extends readonly (infer Name extends string)[]
  ? { readonly [One in Name & keyof Nodes]: ReferenceTo<NodeIn<Nodes, One>, 'succeeded'> }
  : After extends AnyOf
    ? object
    : {
        readonly [
          Name in keyof After & keyof Nodes as After[Name] extends 'dead' ? never : Name
        ]: ReferenceTo<NodeIn<Nodes, Name>, After[Name]>
      }
type NodeIn<Nodes, Name extends keyof Nodes> = Nodes[Name] extends NodeType ? Nodes[Name] : never

/** An input, or a function of references that gives one. */
type FlowInput<Input, References> = unknown extends Input
  ? string | number | boolean | object | null | ((from: References) => unknown)
  : Exclude<Input, undefined> | ((from: References) => Referable<Exclude<Input, undefined>>)
type FlowInputs<Input, References> =
  Iterable<Input> | ((from: References) => Iterable<unknown extends Input ? unknown : Referable<Input>>)

/** A node as a builder keeps it. */
export interface FlowNode {
  readonly name: string
  readonly contract: JobContract
  /** Of its jobs; those with references are `ReferringInput`s. */
  readonly inputs: readonly unknown[]
  readonly isGroup: boolean
  readonly after: readonly { readonly node: string; readonly when: When }[]
  /** One of `after` is enough. */
  readonly needsAny: boolean
  readonly options: Omit<FlowJobOptions, 'after'>
}

/** A flow before it is stored. */
export interface FlowDefinition {
  readonly name: string
  readonly onDead: 'hold' | 'skip'
  readonly nodes: readonly FlowNode[]
}

/** Jobs that depend on each other. A value: each call returns a new one. */
export class FlowBuilder<Nodes = NoNodes> implements FlowDefinition {
  readonly name: string
  readonly onDead: 'hold' | 'skip'
  readonly nodes: readonly FlowNode[]

  /** @internal Use `flow()`. */
  constructor(name: string, onDead: 'hold' | 'skip', nodes: readonly FlowNode[]) {
    this.name = name
    this.onDead = onDead
    this.nodes = nodes
  }

  /** Adds one job. */
  job<
    const Name extends string,
    Contract extends JobContract,
    const After extends AfterOf<Nodes> = readonly [],
  >(
    name: Name & NewName<Nodes, Name>,
    contract: Contract,
    input: FlowInput<InputOf<Contract>, References<Nodes, After>>,
    options: FlowJobOptions & { after?: (After & Known<Nodes, After>) | undefined } = {},
  ): FlowBuilder<
    Nodes & { [One in Name]: { input: InputOf<Contract>; output: OutputOf<Contract>; isGroup: false } }
  > {
    return this.#with({ name, contract, given: input, isGroup: false }, options)
  }

  /** Adds a group of jobs that start together; up to 100,000. */
  jobs<
    const Name extends string,
    Contract extends JobContract,
    const After extends AfterOf<Nodes> = readonly [],
  >(
    name: Name & NewName<Nodes, Name>,
    contract: Contract,
    inputs: FlowInputs<InputOf<Contract>, References<Nodes, After>>,
    options: FlowJobOptions & { after?: (After & Known<Nodes, After>) | undefined } = {},
  ): FlowBuilder<
    Nodes & { [One in Name]: { input: InputOf<Contract>; output: OutputOf<Contract>; isGroup: true } }
  > {
    return this.#with({ name, contract, given: inputs, isGroup: true }, options)
  }

  #with<Grown>(
    { name, contract, given, isGroup }: Pick<FlowNode, 'name' | 'contract' | 'isGroup'> & { given: unknown },
    { after = [], ...options }: FlowJobOptions & { after?: unknown },
  ): FlowBuilder<Grown> {
    const where = `flow '${this.name}', node '${name}'`
    nameOption('name', name)
    if (this.nodes.some((node) => node.name === name))
      throw refused('name', `Two nodes of flow '${this.name}' have the name '${name}'.`)
    checkContract(contract)
    rejectUnknown(where, options, knownOptions)
    const { edges, needsAny } = this.#edges(after)
    const inputs = inputsOf(given, { isGroup, where, from: this.#references(needsAny ? [] : edges) })
    const node: FlowNode = { name, contract, inputs, isGroup, after: edges, needsAny, options }
    return newBuilder<Grown>(this.name, this.onDead, [...this.nodes, Object.freeze(node)])
  }

  #edges(after: unknown): { edges: FlowNode['after']; needsAny: boolean } {
    if (Array.isArray(after)) {
      const edges = after.map((name: unknown, index) => this.#edge(`after[${index}]`, name, 'succeeded'))
      return { edges, needsAny: false }
    }
    if (typeof after !== 'object' || after === null)
      throw invalidOption('after', "names of nodes, or an object such as { reserve: 'succeeded' }", after)
    const needsAny = isAnyOf(after)
    const conditions = needsAny ? after.anyOf : after
    const edges = Object.entries(conditions).map(([name, when]) => this.#edge(`after.${name}`, name, when))
    if (needsAny && edges.length === 0) throw invalidOption('after', 'anyOf() with at least one node', after)
    return { edges, needsAny }
  }

  #edge(option: string, node: unknown, when: unknown): FlowNode['after'][number] {
    if (typeof node !== 'string' || !this.nodes.some(({ name }) => name === node)) {
      const names = this.nodes.map(({ name }) => `'${name}'`).join(', ')
      throw invalidOption(option, `the name of an earlier node (${names || 'there is none'})`, node)
    }
    return { node, when: oneOfOption(option, when, ['succeeded', 'ended', 'dead']) }
  }

  /** What an input function gets. A node that is not in `after` is refused there, too. */
  #references(edges: FlowNode['after']): object {
    const known = new Map<string, object>()
    for (const { node, when } of edges) {
      if (when === 'dead') continue
      const isGroup = this.nodes.some(({ name, isGroup }) => name === node && isGroup)
      const one = when === 'ended' ? 'end' : 'output'
      known.set(node, referenceTo(node, isGroup ? `${one}s` : one))
    }
    return new Proxy(Object.freeze({}), {
      get: (_, name) => {
        if (typeof name === 'symbol') return undefined
        const found = known.get(name)
        if (found !== undefined) return found
        throw refused(
          'input',
          `The input refers to node '${name}', which has to be in \`after\` as 'succeeded' or 'ended'.`,
        )
      },
    })
  }
}

/** Outside of the class: a class that refers to itself is renamed by the bundler. */
function newBuilder<Nodes>(...parts: ConstructorParameters<typeof FlowBuilder>): FlowBuilder<Nodes> {
  return new FlowBuilder<Nodes>(...parts)
}

/** Defines a flow: jobs that start when other jobs have ended. `stint.flows.enqueue()` stores it. */
export function flow(name: string, { onDead = 'hold', ...rest }: FlowOptions = {}): FlowBuilder {
  rejectUnknown('flow()', rest, ['onDead'])
  return new FlowBuilder(nameOption('name', name), oneOfOption('onDead', onDead, ['hold', 'skip']), [])
}

/** For `after`: one of these is enough. What the nodes give cannot be referred to, because one of them may not have ended. */
export function anyOf<const Conditions extends Readonly<Record<string, When>>>(
  conditions: Conditions,
): AnyOf<Conditions> {
  return Object.freeze({ anyOf: conditions })
}

function isAnyOf(after: object): after is AnyOf {
  return 'anyOf' in after && typeof after.anyOf === 'object' && after.anyOf !== null
}

const mostJobs = 100_000

/** The inputs of a node, each with its references as they are stored. */
function inputsOf(
  given: unknown,
  { isGroup, where, from }: { isGroup: boolean; where: string; from: object },
): unknown[] {
  const isFunction = typeof given === 'function'
  const value = isFunction ? (given as (from: object) => unknown)(from) : given
  if (!isGroup) return [isFunction ? withReferences(value) : value]
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
    throw invalidOption('inputs', `a list of inputs (${where})`, value)
  const inputs: unknown[] = []
  for (const input of value as Iterable<unknown>) {
    if (inputs.length === mostJobs)
      throw refused('inputs', `Expected at most ${mostJobs.toLocaleString('en')} jobs in ${where}.`)
    inputs.push(isFunction ? withReferences(input, `inputs[${inputs.length}]`) : input)
  }
  return inputs
}

function refused(path: string, message: string): StintError {
  return new StintError('invalid-input', message, { issues: [{ path, message }] })
}
