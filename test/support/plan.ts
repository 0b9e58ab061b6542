/** The output of EXPLAIN (FORMAT JSON) for a statement. */
export interface Explained {
  Plan: Plan
  /** In milliseconds, after ANALYZE. */
  'Execution Time'?: number
  'Planning Time'?: number
}

export interface Plan {
  'Node Type': string
  'Total Cost': number
  Operation?: string
  'Join Type'?: string
  'Relation Name'?: string
  'Index Name'?: string
  'CTE Name'?: string
  'Function Name'?: string
  'Subplan Name'?: string
  'Scan Direction'?: string
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: Plan[]
}

/** How one table is read: through an index, or `path` is the table itself. */
export interface AccessPath {
  relation: string
  path: string
}

/** Every access to a table in a plan, except that of the updated table itself. */
export function accessPaths(plan: Plan): AccessPath[] {
  const own = pathOf(plan)
  return [...(own === undefined ? [] : [own]), ...(plan.Plans ?? []).flatMap(accessPaths)]
}

/** Blocks that a statement found in the cache or had to read, including its subplans. */
export function touchedBlocks({ Plan: plan }: Explained): number {
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}

/** Nodes that read all of their input before they return the first row. */
const gathers = new Set(['Sort', 'Incremental Sort', 'Hash', 'Materialize', 'Memoize', 'Aggregate'])

/** Work that grows with a large table: reading it whole, or collecting and sorting rows without a limit. */
export function unboundedWork(plan: Plan, large: ReadonlySet<string>, gatherer?: string): string[] {
  const path = pathOf(plan)
  const found: string[] = []
  if (path !== undefined && large.has(path.relation)) {
    if (path.path === path.relation) found.push(`reads all of ${path.relation}`)
    if (gatherer !== undefined) found.push(`${gatherer} of ${path.path}`)
    // A bitmap loses the order of the index; the primary key and the index by worker have no order that matters.
    if (plan['Node Type'] === 'Bitmap Heap Scan' && /_(ready|ready_keyed|due)$/.test(path.path))
      found.push(`bitmap of ${path.path}`)
  }
  const type = plan['Node Type']
  const inner = gathers.has(type) ? type : type === 'Limit' || type === 'ModifyTable' ? undefined : gatherer
  for (const child of plan.Plans ?? [])
    found.push(...unboundedWork(child, large, isApart(child) ? undefined : inner))
  return found
}

/** A plan as text: a line for its root and one for each CTE, with tables named by the index they are read through. */
export function shapeOf(plan: Plan): string {
  const lines: string[] = []
  const root = draw(plan, lines)
  return [...lines, root].map((line) => `  ${line}`).join('\n')
}

function draw(plan: Plan, lines: string[]): string {
  const children: string[] = []
  for (const child of plan.Plans ?? []) {
    const [, cte] = /^CTE (.+)/.exec(child['Subplan Name'] ?? '') ?? []
    const drawn = draw(child, lines)
    if (cte !== undefined) lines.push(`${cte} = ${drawn}`)
    else if (drawn !== '' && drawn !== children.at(-1)) children.push(drawn)
  }
  const path = pathOf(plan)
  if (path !== undefined) {
    // An empty partition was created ahead; its plan does not matter.
    if (path.path === path.relation && /_\d{8}$/.test(path.relation)) return ''
    return path.path.replace(/_\d{8}/, '')
  }
  const type = plan['Node Type']
  const leaf = plan['CTE Name'] ?? plan['Function Name']
  if (leaf !== undefined) return children.length === 0 ? leaf : `${leaf}(${children.join(', ')})`
  if (type === 'Subquery Scan' || type === 'Hash') return children.join(', ')
  // The hashed side depends on a guess which side is smaller.
  if (type === 'Hash Join') children.sort()
  const name =
    type === 'ModifyTable'
      ? `${plan.Operation ?? ''} ${(plan['Relation Name'] ?? '').replace(/_\d{8}/, '')}`
      : plan['Join Type'] === undefined || plan['Join Type'] === 'Inner'
        ? type
        : `${type} ${plan['Join Type'].replace('Right ', '')}`
  return children.length === 0 ? name : `${name}(${children.join(', ')})`
}

/** Index and bitmap scans are named by their index and treated alike. */
function pathOf(plan: Plan): AccessPath | undefined {
  const type = plan['Node Type']
  const relation = plan['Relation Name']
  if (!type.endsWith('Scan') || relation === undefined) return undefined
  if (type === 'Bitmap Heap Scan') return { relation, path: bitmapIndexes(plan).join('+') }
  // By the position of the rows, which another node has found.
  if (type === 'Tid Scan') return { relation, path: 'ctid' }
  const index = plan['Index Name'] ?? relation
  return { relation, path: plan['Scan Direction'] === 'Backward' ? `${index} backward` : index }
}

function bitmapIndexes(plan: Plan): string[] {
  return (plan.Plans ?? [])
    .filter((child) => !isApart(child))
    .flatMap((child) => (child['Index Name'] === undefined ? bitmapIndexes(child) : [child['Index Name']]))
}

/** A subplan is executed on its own, not as input of its parent node. */
function isApart(plan: Plan): boolean {
  return plan['Subplan Name'] !== undefined
}
