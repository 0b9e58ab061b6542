/** The priorities that a job can have: higher runs sooner. */
export const priorityRange = { min: -100, max: 100 } as const
