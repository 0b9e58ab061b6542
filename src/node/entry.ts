/** The file that this process's workers come from, shared by all copies of the package in the process. */
interface Program {
  /** The file that `stint work`, or a child, has loaded. */
  entry?: string
  /** Workers that were made so far, by the file they come from. */
  readonly made: Map<string, number>
}

const home = Symbol.for('stint.program')

function program(): Program {
  return ((globalThis as Record<symbol, unknown>)[home] ??= { made: new Map() }) as Program
}

/** Says which file is about to be loaded for its workers. */
export function tellEntry(path: string): void {
  program().entry = path
}

/** The file that was loaded for its workers; undefined in a program that loads them itself. */
export function toldEntry(): string | undefined {
  return program().entry
}

/** Zero-based index of a new worker within its file: the same in every process that loads the file. */
export function nextIndex(entry: string): number {
  const { made } = program()
  const index = made.get(entry) ?? 0
  made.set(entry, index + 1)
  return index
}
