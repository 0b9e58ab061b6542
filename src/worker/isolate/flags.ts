/** The command-line flags of this process that a child gets too: loaders, conditions, warnings. */
export function inheritedFlags(flags: readonly string[]): string[] {
  let isKept = true
  return flags.filter((word) => {
    // A word that is no flag is the value of the flag before it.
    if (word.startsWith('-')) isKept = !ownOnly.test(word)
    return isKept
  })
}

/** Flags for a port, a watcher, a profile or a program of `node -e` apply to one process only. */
const ownOnly =
  /^(--(inspect|watch|test|input-type|max[-_]old[-_]space[-_]size|cpu-prof|heap-prof|eval|print|interactive|check)([-=].*)?|-(e|p|pe|i|c))$/
