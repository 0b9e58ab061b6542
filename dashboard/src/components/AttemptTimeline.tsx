import type { JobAttempt, JobDetail } from '../api/jobs.ts'
import { useNow } from '../text/clock.ts'
import { plural, span } from '../text/format.ts'
import { segmentsOf, segmentWords } from '../text/timeline.ts'
import type { Segment } from '../text/timeline.ts'
import type { Tone } from './outcomes.ts'
import { Time } from './Time.tsx'

const width = 1_000

/** A timeline of a job, to scale: waiting, running, outcomes. The list of attempts below has the same as text. */
export function AttemptTimeline({ job, attempts }: { job: JobDetail; attempts: readonly JobAttempt[] }) {
  const now = useNow()
  const segments = segmentsOf(job, attempts, now)
  const [first] = segments
  const last = segments.at(-1)
  if (first === undefined || last === undefined) return <p className="empty">No events yet.</p>
  const length = Math.max(1, last.to - first.from)
  const x = (at: number): number => ((at - first.from) / length) * width
  const sums = new Map<Segment['type'], number>()
  for (const each of segments) sums.set(each.type, (sums.get(each.type) ?? 0) + each.to - each.from)
  return (
    <div className="timeline">
      <svg
        viewBox={`0 0 ${width} 28`}
        preserveAspectRatio="none"
        role="img"
        aria-label={summary(sums, attempts)}
      >
        {segments.map((segment, index) => (
          <rect
            key={index}
            className={`segment segment-${segment.type} segment-${segment.tone}`}
            x={x(segment.from)}
            // A short segment still gets a visible width.
            width={Math.max(segment.type === 'running' ? 3 : 0, x(segment.to) - x(segment.from))}
            y={segment.type === 'running' ? 0 : 9}
            height={segment.type === 'running' ? 28 : 10}
          >
            <title>{segment.words}</title>
          </rect>
        ))}
      </svg>
      <div className="timeline-ends">
        <Time at={new Date(first.from).toISOString()} exact />
        <span className="legend">
          {legendOf(segments).map(({ colour, words, ms }) => (
            <span key={colour} className={`swatch swatch-${colour}`}>
              {words} {span(ms)}
            </span>
          ))}
        </span>
        {job.finishedAt === null ? <span className="muted">now</span> : <Time at={job.finishedAt} exact />}
      </div>
    </div>
  )
}

const toneWords: Readonly<Record<Tone, string>> = {
  good: 'succeeded after',
  bad: 'failed after',
  warn: 'worker lost after',
  flow: 'running',
  quiet: 'put back or cancelled after',
}

/** Each colour once, in order of time: waiting segments by their type, running ones by their outcome. */
function legendOf(segments: readonly Segment[]): { colour: string; words: string; ms: number }[] {
  const all = new Map<string, { colour: string; words: string; ms: number }>()
  for (const { type, tone, from, to } of segments) {
    const colour = type === 'running' ? tone : type
    const words = type === 'running' ? toneWords[tone] : segmentWords[type]
    const entry = all.get(colour) ?? { colour, words, ms: 0 }
    all.set(colour, { ...entry, ms: entry.ms + to - from })
  }
  return [...all.values()]
}

function summary(sums: ReadonlyMap<Segment['type'], number>, attempts: readonly JobAttempt[]): string {
  const times = [...sums].map(([type, ms]) => `${segmentWords[type]} ${span(ms)}`).join(', ')
  return `${plural(attempts.length, 'attempt')}. ${times}`
}
