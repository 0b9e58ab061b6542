/** Of the flags that this process was started with, those that are for a child too: loaders, conditions, warnings. */
export function inheritedFlags(flags: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index < flags.length; index++) {
    const flag = flags[index] ?? ''
    // The program of `node -e …` is the next word, and a child has a program of its own.
    if (/^(-e|-p|-pe|--eval|--print)$/.test(flag)) index++
    else if (!ownOnly.test(flag)) kept.push(flag)
  }
  return kept
}

/** One port, one watcher, one profile: for the process they were given to. */
const ownOnly =
  /^(--inspect.*|--watch.*|--test.*|--input-type.*|-i|--interactive|-c|--check|--max-old-space-size.*|--max_old_space_size.*|--(cpu|heap)-prof.*|--eval=.*|--print=.*)$/
