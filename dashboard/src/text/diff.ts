export interface DiffLine {
  type: 'same' | 'gone' | 'new'
  text: string
}

const longest = 600

/** Removed and added lines, by the longest common subsequence; only the first lines of long texts are compared. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, young] = [before.split('\n').slice(0, longest), after.split('\n').slice(0, longest)]
  // common[i][j]: length of the common subsequence of the old lines from i on and the new lines from j on.
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(young.length + 1))
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = young.length - 1; j >= 0; j--) {
      const row = common[i] ?? new Uint16Array()
      row[j] =
        old[i] === young[j]
          ? (common[i + 1]?.[j + 1] ?? 0) + 1
          : Math.max(common[i + 1]?.[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < young.length) {
    const [left, right] = [old[i], young[j]]
    if (left !== undefined && left === right) {
      lines.push({ type: 'same', text: left })
      i++
      j++
    } else if (
      right === undefined ||
      (left !== undefined && (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ type: 'gone', text: left ?? '' })
      i++
    } else {
      lines.push({ type: 'new', text: right })
      j++
    }
  }
  return lines
}
