import { useMemo } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { overviewQuery, statsQuery, stepsOver } from '../api/queues.ts'
import type { Overview, OverviewProblem } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { Icon } from '../components/Icon.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { NewRows } from '../components/NewRows.tsx'
import { Page, Section } from '../components/Page.tsx'
import { PauseBand } from '../components/PauseBand.tsx'
import { queueTimes, QueueTable } from '../components/QueueTable.tsx'
import { RangePicker } from '../components/RangePicker.tsx'
import { Sparkline } from '../components/Sparkline.tsx'
import { StatCharts } from '../components/StatCharts.tsx'
import { useHeld } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { countText, figureText, percent, plural, rate, slotsText, span } from '../text/format.ts'
import { useRange } from '../url/use-range.ts'
import { query } from '../url/use-url.ts'

/** Problems first, then the figures. */
export function OverviewRoute() {
  const [range] = useRange()
  const overview = useLive(overviewQuery())
  const stats = useLive(statsQuery(range))
  // The range is for the charts: the figures above always cover the last hour.
  const { data: series } = useLive(statsQuery('1h'))
  const points = useMemo(() => (series === undefined ? [] : stepsOver(series)), [series])
  useRowKeys()
  return (
    <Page title="Overview" actions={<RangePicker />}>
      <Loaded query={overview}>
        {(answer) => (
          <>
            <Problems problems={answer.problems} />
            <PauseBand queues={answer.queues} isOverview />
            <Headline overview={answer} points={points} />
            <QueueSection overview={answer} />
            {stats.data === undefined || answer.queues.length === 0 ? null : (
              <StatCharts series={stats.data} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Problems({ problems }: { problems: OverviewProblem[] }) {
  const { rows, waiting, letIn } = useHeld(
    problems,
    (problem) => `${problem.about} ${problem.title} ${problem.link}`,
  )
  if (rows.length === 0 && waiting === 0) {
    return (
      <p className="all-well">
        <Icon name="succeeded" /> Nothing needs attention.
      </p>
    )
  }
  return (
    <section className="problems" aria-label="Problems">
      <NewRows waiting={waiting} letIn={letIn} />
      <ul>
        {rows.map(({ item, key, isGone }) => (
          <li key={key} className={`problem problem-${item.level} ${isGone ? 'gone' : ''}`}>
            <Icon name={item.level} />
            <span className="problem-words">
              <strong>{item.title}</strong> <span>{item.detail}</span>
            </span>
            {isGone ? <span className="muted">resolved</span> : null}
            <Link href={`/${item.link.replace(/^\//, '')}`}>
              {aboutWords[item.about]} <Icon name="right" />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

const aboutWords: Record<OverviewProblem['about'], string> = {
  'error-group': 'Dead letters',
  queue: 'Queue',
  worker: 'Workers',
  schedule: 'Schedules',
  service: 'System',
  database: 'System',
  operation: 'Operation',
}

function Headline({
  overview,
  points,
}: {
  overview: Overview
  points: { succeeded: number; failed: number; dead: number; waitP95: number | null }[]
}) {
  const sparks = useMemo(
    () => ({
      ended: points.map((point) => point.succeeded + point.dead),
      failed: points.map(({ succeeded, failed, dead }) =>
        failed + dead === 0 ? 0 : (failed + dead) / (succeeded + failed + dead),
      ),
      wait: points.map((point) => point.waitP95 ?? 0),
      dead: points.map((point) => point.dead),
    }),
    [points],
  )
  const oldest = overview.oldestReadyMs
  return (
    <section className="figures" aria-label="Headline">
      <Figure
        name="Throughput"
        window="5 min"
        value={rate(overview.perSecond)}
        href={`/jobs${query({ where: 'state:succeeded' })}`}
      >
        <Sparkline values={sparks.ended} label="Jobs ended over the last hour" />
      </Figure>
      <Figure
        name="Failed attempts"
        window="1 h"
        value={percent(overview.failureRate)}
        href={`/dead${query({ show: 'errors' })}`}
        isBad={(overview.failureRate ?? 0) > 0.05}
      >
        <Sparkline values={sparks.failed} label="Share of failed attempts over the last hour" tone="bad" />
      </Figure>
      <Figure
        name="Wait p95"
        window="1 h"
        value={overview.waitP95 === null ? '–' : span(overview.waitP95)}
        href={`/jobs${query({ where: 'state:ready' })}`}
      >
        <Sparkline values={sparks.wait} label="Wait, 95th percentile, over the last hour" />
      </Figure>
      <Figure
        name="Oldest ready"
        value={oldest === null ? '–' : span(oldest)}
        href={`/jobs${query({ where: 'state:ready' })}`}
        isBad={oldest !== null && oldest > 300_000}
      />
      <Figure name="Dead" value={countText(overview.dead)} href="/dead" isBad={overview.dead.count > 0}>
        <Sparkline values={sparks.dead} label="Jobs that died over the last hour" tone="bad" />
      </Figure>
      <Figure
        name="Running"
        value={figureText(overview.running, 'running', {
          estimated: overview.queues.flatMap((each) => each.estimated),
          atLeast: overview.queues.flatMap((each) => each.atLeast),
        })}
        note={`${slotsText(overview.running, overview.slots)} · ${plural(overview.workers, 'worker')}`}
        href="/workers"
        isBad={overview.workers === 0}
      />
    </section>
  )
}

function Figure({
  name,
  window,
  value,
  href,
  note,
  isBad = false,
  children,
}: {
  name: string
  /** The time that the figure covers; none if it is current. */
  window?: string
  value: string
  href: string
  note?: string
  isBad?: boolean
  children?: ReactNode
}) {
  return (
    <Link href={href} className="figure">
      <span className="figure-name">
        {name}
        {window === undefined ? null : <span className="figure-window">{window}</span>}
      </span>
      <span className={`figure-value ${isBad ? 'bad' : ''}`}>{value}</span>
      <span className="figure-note">{note ?? children}</span>
    </Link>
  )
}

function QueueSection({ overview }: { overview: Overview }) {
  return (
    <Section
      title="Queues"
      aside={
        <span className="muted">
          {plural(overview.queues.length, 'queue')} · {queueTimes}
        </span>
      }
    >
      {overview.queues.length === 0 ? (
        <div className="empty">
          <p>No queue has had a job yet.</p>
          <p className="muted">
            Enqueue one with the client, with <code>POST v1/jobs</code>, or from SQL, and it shows up here.
          </p>
        </div>
      ) : (
        <QueueTable queues={overview.queues} />
      )}
    </Section>
  )
}
