import { useMemo } from 'react'
import { stepsOver } from '../api/queues.ts'
import type { StatSeries } from '../api/queues.ts'
import { failedText, plural, short, span } from '../text/format.ts'
import { Chart } from './Chart.tsx'
import { Time } from './Time.tsx'

/** Charts of a time range: jobs per second, wait time and run time. */
export function StatCharts({ series }: { series: StatSeries }) {
  const { times, flow, wait, run } = useMemo(() => {
    const points = stepsOver(series)
    const seconds = series.stepMs / 1_000
    return {
      times: points.map((point) => point.at),
      flow: [
        {
          label: 'succeeded',
          tone: 'good',
          fill: true,
          values: points.map((point) => point.succeeded / seconds),
        },
        { label: 'enqueued', tone: 'flow', values: points.map((point) => point.enqueued / seconds) },
        {
          label: 'failed',
          tone: 'bad',
          values: points.map((point) => (point.failed + point.dead) / seconds),
        },
      ] as const,
      wait: [
        { label: 'median', tone: 'quiet', values: points.map((point) => point.waitP50) },
        { label: '95th percentile', tone: 'flow', values: points.map((point) => point.waitP95) },
      ] as const,
      run: [
        { label: 'median', tone: 'quiet', values: points.map((point) => point.runP50) },
        { label: '95th percentile', tone: 'flow', values: points.map((point) => point.runP95) },
      ] as const,
    }
  }, [series])
  const { total, since } = series
  const begins = since !== null && Date.parse(since) > Date.parse(series.from) - 60_000 ? since : undefined
  return (
    <section className="charts" aria-label="Charts">
      <Chart title="Jobs per second" times={times} lines={flow} show={short} marks={series.deploys} />
      <Chart title="Wait before start" times={times} lines={wait} show={span} marks={series.deploys} />
      <Chart title="Run time" times={times} lines={run} show={span} marks={series.deploys} />
      <p className="muted chart-sum">
        {begins === undefined ? (
          'In this range: '
        ) : (
          <>
            Figures begin <Time at={begins} />. Since then:{' '}
          </>
        )}
        {short(total.succeeded)} succeeded, {failedText(total)}, {plural(total.dead, 'job')} died,{' '}
        {short(total.leaseExpired)} leases lost, {short(total.refused)} late results refused
        {series.deploys.length > 0
          ? `; dashed lines: first worker of ${series.deploys.map((deploy) => deploy.version).join(', ')}`
          : ''}
        .
      </p>
    </section>
  )
}
