/** A command line that a shell reads as it is meant, whatever is in a name. */
export function shell(...words: (string | undefined)[]): string {
  return words
    .filter((word) => word !== undefined)
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ')
}

/** `--reason …`, where one is given. */
export function because(reason: string): string[] {
  const given = reason.trim()
  // What begins with a dash would be taken for an option.
  if (given.startsWith('-')) return [`--reason=${given}`]
  return given === '' ? [] : ['--reason', given]
}
