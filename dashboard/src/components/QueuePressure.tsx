import { pressureQuery } from '../api/queues.ts'
import type { QueuePressure as Pressure } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { span } from '../text/format.ts'
import { Time } from './Time.tsx'

/** One line about how full a queue is; nothing for a queue that takes jobs without a rule. */
export function QueuePressure({ queue }: { queue: string }) {
  const { data } = useLive(pressureQuery(queue))
  if (data === undefined || (data.whenFull === null && !data.isBroken && data.state !== 'closed')) return null
  return (
    <section
      className={data.state === 'open' && !data.isBroken ? 'muted' : 'warn-text'}
      aria-label="Backpressure"
    >
      <p>
        {data.isBroken ? 'Its rule of backpressure is broken and ignored. ' : null}
        {data.state === 'closed' ? (
          <>
            Closed for new jobs
            {data.closedAt === null ? null : (
              <>
                {' '}
                since <Time at={data.closedAt} />
              </>
            )}
            {data.closeReason === null ? '' : `: ${data.closeReason}`}.{' '}
          </>
        ) : null}
        {said[data.state]} {levelOf(data)}
        {data.refused === 0 ? '' : ` Refused so far: ${count(data.refused)}.`}
      </p>
    </section>
  )
}

const said: Readonly<Record<Pressure['state'], string>> = {
  open: '',
  warn: 'Filling up:',
  full: 'Full, new jobs are refused:',
  closed: '',
}

/** depth 9,800 of 10,000, oldest 4m of 1h. */
function levelOf({ depth, maxDepth, isEstimate, oldestMs, maxAgeMs }: Pressure): string {
  const parts = [
    ...(depth === null
      ? []
      : [
          `depth ${isEstimate ? '≈' : ''}${count(depth)}${maxDepth === null ? '' : ` of ${count(maxDepth)}`}`,
        ]),
    ...(oldestMs === null || maxAgeMs === null ? [] : [`oldest ${span(oldestMs)} of ${span(maxAgeMs)}`]),
  ]
  return parts.length === 0 ? '' : `${parts.join(', ')}.`
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
