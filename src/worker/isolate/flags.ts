/** Of the flags that this process was started with, those that are for a child too: loaders, conditions, warnings. */
export function inheritedFlags(flags: readonly string[]): string[] {
  let isKept = true
  return flags.filter((word) => {
    // A word that is no flag is the value of the one before it.
    if (word.startsWith('-')) isKept = !ownOnly.test(word)
    return isKept
  })
}

/** One port, one watcher, one profile, one program of `node -e`: for the process they were given to. */
const ownOnly =
  /^(--(inspect|watch|test|input-type|max[-_]old[-_]space[-_]size|cpu-prof|heap-prof|eval|print|interactive|check)([-=].*)?|-(e|p|pe|i|c))$/
