import type { CountedState, JobSummary, QueueFigures, Status } from 'stint'

const marks = {
  scheduled: '◷',
  waiting: '◌',
  ready: '○',
  running: '●',
  retrying: '↻',
  succeeded: '✓',
  cancelled: '⊘',
  dead: '✖',
} as const satisfies Record<JobSummary['state'], string>

export interface Shown {
  jobs: readonly JobSummary[]
  /** Undefined until the console is up. */
  dashboard: string | undefined
  news: readonly string[]
  /** Process ids of workers that have ended. */
  ended: ReadonlySet<number>
}

/** Queues, workers and the newest jobs; replaces the last screen. */
export function drawScreen(status: Status, { jobs, dashboard, news, ended }: Shown): string {
  const clear = '\u001b[2J\u001b[H'
  const lines = [
    `Stint: a producer and ${liveIn(status, ended).length} workers at work                Ctrl-C stops all`,
    `Dashboard: ${dashboard ?? 'coming up …'}`,
    '',
    columns(['QUEUE', ...shownStates.map((state) => state.toUpperCase()), 'OLDEST READY'], queueWidths),
    ...status.queues.map((queue) =>
      columns(
        [
          queue.queue,
          ...shownStates.map((state) => figure(queue, state)),
          queue.oldestReadyMs === null ? '–' : `${(queue.oldestReadyMs / 1_000).toFixed(1)}s`,
        ],
        queueWidths,
      ),
    ),
    '',
    columns(['STATE', 'KIND', 'ATTEMPT', 'KEY', 'ID'], jobWidths),
    ...jobs.map(jobLine),
    '',
    ...workersIn(status).map((worker) => {
      const { host, pid, leaseUntil } = worker
      const leftMs = leaseUntil.getTime() - status.asOf.getTime()
      const lease =
        leftMs > 0 ? `lease ${(leftMs / 1_000).toFixed(1)}s` : 'lease over: its jobs are taken back'
      return `worker ${host ?? '?'}/${pid ?? '?'}  ${isEnded(worker, ended) ? 'ended, ' : ''}${lease}`
    }),
    '',
    ...news,
    'Dead letters need a decision: open the dashboard, or run npx stint dead list',
  ]
  return clear + lines.join('\n')
}

/** One line, for a log instead of a terminal. */
export function summaryLine(status: Status, ended: ReadonlySet<number>): string {
  const each = status.queues.map(
    (queue) =>
      `${queue.queue}: ${figure(queue, 'ready')} ready, ${figure(queue, 'running')} running, ${figure(queue, 'dead')} dead`,
  )
  return [`${liveIn(status, ended).length} workers`, ...each].join(' · ')
}

/** Without the console's own worker, which serves only the queue of operations. */
function workersIn({ workers }: Status): Status['workers'] {
  return workers.filter(({ queues }) => Object.keys(queues).join() !== 'stint')
}

/** The workers that run. The database lists a killed worker until its lease is over and its jobs are taken back. */
function liveIn(status: Status, ended: ReadonlySet<number>): Status['workers'] {
  return workersIn(status).filter((one) => one.leaseUntil > status.asOf && !isEnded(one, ended))
}

function isEnded({ pid }: Status['workers'][number], ended: ReadonlySet<number>): boolean {
  return pid !== null && ended.has(pid)
}

const shownStates = ['ready', 'running', 'scheduled', 'retrying', 'dead'] as const
const queueWidths = [10, 7, 8, 10, 9, 6, 12]
const jobWidths = [12, 14, 8, 10, 36]

function jobLine(job: JobSummary): string {
  const attempt = `${job.attempt}/${job.maxAttempts}`
  return columns([`${marks[job.state]} ${job.state}`, job.kind, attempt, job.key ?? '–', job.id], jobWidths)
}

/** `12`; `≈12000` for an estimate, `10000+` for a count that stopped at a limit. */
function figure(figures: QueueFigures, state: CountedState): string {
  if (figures.estimated.includes(state)) return `≈${figures[state]}`
  return figures.atLeast.includes(state) ? `${figures[state]}+` : String(figures[state])
}

function columns(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join(' ')
    .trimEnd()
}
