/** What people have decided about a group of errors. */
export const errorStatuses = ['open', 'resolved', 'ignored'] as const
export type ErrorStatus = (typeof errorStatuses)[number]
