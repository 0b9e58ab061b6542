/** A table as text: the first column to the left, numbers to the right, the last one as it comes. */
export function alignedTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        if (column === 0) return cell.padEnd(widths[column] ?? 0)
        return column === head.length - 1 ? cell : cell.padStart(widths[column] ?? 0)
      })
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const rule = head.map((_, column) => (column === 0 || column === head.length - 1 ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
