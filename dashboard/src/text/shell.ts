/** A command line with its arguments quoted for a shell. */
export function shell(...words: (string | undefined)[]): string {
  return words
    .filter((word) => word !== undefined)
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ')
}

/** `--reason …`, if a reason is given. */
export function because(reason: string): string[] {
  const given = reason.trim()
  // A value that begins with a dash would be read as an option.
  if (given.startsWith('-')) return [`--reason=${given}`]
  return given === '' ? [] : ['--reason', given]
}
