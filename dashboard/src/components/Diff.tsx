import { diffLines } from '../text/diff.ts'

const marks = { same: ' ', gone: '−', new: '+' } as const

/** The changes of an edit, line by line, marked by a sign and a colour. */
export function Diff({ before, after }: { before: string; after: string }) {
  if (before === after) return <p className="muted">No changes yet.</p>
  return (
    <pre className="diff" tabIndex={0} aria-label="Changes">
      {diffLines(before, after).map((line, index) => (
        <span key={index} className={`diff-${line.type}`}>
          {marks[line.type]} {line.text}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}
