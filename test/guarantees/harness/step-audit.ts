import type { TestDatabase } from '../../support/database.ts'
import type { Ledger } from '../../support/ledger.ts'

/** The acts of the program that have steps end with this result. */
interface StepsResult {
  parts: number[]
  isDoubled: boolean
}

/** What the ledger and the database know of jobs with steps. Call it when no job is left to run. */
export interface StepAudit {
  verdicts: {
    lost: number
    stuck: number
    dead: number
    /** Functions of steps that ran although their record was confirmed before. */
    finishedStepsRepeated: number
    /** Steps of jobs that succeeded, and that no ledger line tells of. */
    stepsLeftOut: number
    effectsDoubled: number
    effectsLost: number
    signalsLost: number
    signalsDoubled: number
    /** A crash was noted for an attempt whose worker was not killed, or that had not begun. */
    blamedFalsely: number
    burnedAttempts: number
    /** Records or signals of jobs that have ended. */
    leftBehind: number
  }
  facts: { stepsRun: number; attempts: number; recovered: number }
}

export async function auditSteps(
  db: TestDatabase,
  ledger: Ledger,
  { ids, steps }: { ids: readonly string[]; steps: readonly string[] },
): Promise<StepAudit> {
  const rows = await db.query<{ id: string; state: string; attempt: number; result: StepsResult | null }>(
    'select id, state, attempt, result from stint.jobs where id = any($1)',
    [ids],
  )
  const effects = await db.query<{ job: string; times: number }>(
    'select job, count(*)::integer as times from effect group by job',
  )
  const crashes = await db.query<{ job: string; epoch: number; worker: string }>(
    `select job_id as job, epoch, worker_id as worker from stint.attempt where outcome = 'lease-lost' and reason like '%while it ran%'`,
  )
  const [left] = await db.query<{ rows: number }>(
    'select (select count(*) from stint.step)::integer + (select count(*) from stint.signal)::integer as rows',
  )
  const succeeded = rows.filter(({ state }) => state === 'succeeded')
  const timesOf = new Map(effects.map(({ job, times }) => [job, times]))
  const { ran, repeated } = runsOf(ledger)
  const killed = killedWorkers(ledger)
  const begun = new Set(ledger.lines({ type: 'start' }).map(({ job, epoch }) => `${job} ${epoch}`))
  const live = rows.filter(({ state }) => !['succeeded', 'dead', 'cancelled'].includes(state))
  return {
    verdicts: {
      lost: ids.length - rows.length,
      stuck: live.length,
      dead: rows.filter(({ state }) => state === 'dead').length,
      finishedStepsRepeated: repeated,
      stepsLeftOut: succeeded.flatMap(({ id }) => steps.filter((step) => !ran.has(`${id} ${step}`))).length,
      effectsDoubled: effects.filter(({ times }) => times > 1).length,
      effectsLost: succeeded.filter(({ id }) => !timesOf.has(id)).length,
      signalsLost: succeeded.filter(({ result }) => result?.parts.toSorted().join() !== '1,2').length,
      signalsDoubled: succeeded.filter(({ result }) => result?.isDoubled !== false).length,
      blamedFalsely: crashes.filter(
        ({ job, epoch, worker }) => !killed.has(worker) || !begun.has(`${job} ${epoch}`),
      ).length,
      burnedAttempts: rows.reduce((sum, { attempt }) => sum + Math.max(0, attempt - 1), 0),
      leftBehind: left?.rows ?? NaN,
    },
    facts: {
      stepsRun: ledger.lines({ type: 'ran' }).length,
      attempts: begun.size,
      recovered: crashes.length,
    },
  }
}

/** Which steps ran, and how often one ran after its record was confirmed. */
function runsOf(ledger: Ledger): { ran: Set<string>; repeated: number } {
  const [ran, confirmed] = [new Set<string>(), new Set<string>()]
  let repeated = 0
  for (const { type, job, step } of ledger.lines()) {
    const key = `${job} ${String(step)}`
    if (type === 'confirmed') confirmed.add(key)
    if (type !== 'ran') continue
    ran.add(key)
    if (!confirmed.has(key)) continue
    repeated++
    process.stdout.write(`ran again: ${key}\n`)
  }
  return { ran, repeated }
}

/** The ids of all workers of processes that were killed. */
function killedWorkers(ledger: Ledger): Set<string> {
  const names = new Set(ledger.lines({ type: 'kill' }).map(({ worker }) => worker))
  return new Set(ledger.lines(({ worker }) => names.has(worker)).flatMap(({ workerId }) => workerId ?? []))
}
