import type { JobSummary } from 'stint'

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

/** The newest jobs, drawn over the last drawing. */
export function drawScreen(jobs: readonly JobSummary[], refusal: string | undefined): string {
  const clear = '\u001b[2J\u001b[H'
  const lines = [
    'Stint: the newest jobs, as a producer stores them       Ctrl-C stops all',
    '',
    columns(['STATE', 'QUEUE', 'KIND', 'KEY', 'PRIORITY', 'DUE', 'ID']),
    ...jobs.map(lineFor),
    '',
    'No worker runs yet, so jobs wait. They are rows of stint.job: stored, durable, yours to query.',
    refusal === undefined ? '' : `Refused at the door: ${refusal}`,
  ]
  return clear + lines.join('\n')
}

export function lineFor(job: JobSummary): string {
  const state = `${marks[job.state]} ${job.state}`
  return columns([state, job.queue, job.kind, job.key ?? '–', String(job.priority), due(job.runAt), job.id])
}

function columns(cells: readonly string[]): string {
  const widths = [12, 9, 14, 10, 9, 10, 36]
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join(' ')
    .trimEnd()
}

function due(runAt: Date): string {
  const seconds = Math.round((runAt.getTime() - Date.now()) / 1_000)
  if (seconds <= 0) return 'now'
  if (seconds < 120) return `in ${seconds}s`
  return seconds < 7_200 ? `in ${Math.round(seconds / 60)}m` : `in ${Math.round(seconds / 3_600)}h`
}
