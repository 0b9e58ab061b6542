/** When something ends, as a person typed it: a duration becomes `for`, a time `until`, nothing no end. */
export function endOf(text: string): { for?: string; until?: string } {
  const given = text.trim()
  if (given === '') return {}
  if (/^\d+(\.\d+)?(ms|s|m|h|d|w)$/.test(given)) return { for: given }
  const time = new Date(given)
  return { until: Number.isNaN(time.getTime()) ? given : time.toISOString() }
}

/** The same as options of the command line: `--for 2h`. */
export function endWords(text: string): string[] {
  return Object.entries(endOf(text)).flatMap(([option, value]) => [`--${option}`, value])
}

export const endHint = 'A duration such as 2h, or a time such as 2030-01-31T09:00:00Z.'
