export const maxResultBytes = 256 * 1024
export const maxNoteBytes = 1024

/**
 * The sorts of output that are stored, and the verb for each. What a handler throws is not among them: a stored error
 * marks its own changes.
 */
export const outputs = {
  'The result': 'returned',
  'What ctx.once gave': 'returned',
  'A note of progress': 'given',
  'A line of this log': 'given',
} as const
export type Output = keyof typeof outputs
