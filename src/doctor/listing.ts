const most = 10

/** The first items, and how many more there are. */
export function listing(items: readonly string[], between = ', '): string {
  const shown = items.slice(0, most).join(between)
  return items.length <= most ? shown : `${shown}${between}and ${items.length - most} more`
}
