import { countRows } from './count-rows.ts'
import { installedVersion } from './installed.ts'
import type { Input, PreparedWorker, Session, System, Tuning, Work } from './system.ts'
import { bulkTunings, poolTunings } from './system.ts'

const task = 'bench'

// As workerUtils.addJobs() calls it, but counting the rows where they are.
const addJobs = `
  select count(*)
    from graphile_worker.add_jobs(
           array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json))
         )`

export const graphileWorker: System = {
  name: 'graphile-worker',
  version: installedVersion('graphile-worker'),
  store: 'postgres',
  settings: {
    enqueue:
      '`addJob` of one `makeWorkerUtils` (its docs warn of the ad-hoc calls), SQL `add_job` in the transaction. For ' +
      'bulk, `addJobs` and the SQL function `add_jobs` tried: the latter can leave out the rows that the former ' +
      'brings back. No `queueName` and no `jobKey`: both add work. Its NOTIFY is part of `add_jobs` and cannot be ' +
      'turned off. Pool size tried.',
    work:
      '`run` with `concurrentJobs`, a `localQueue` (jobs fetched ahead, many at a time) and ' +
      '`completeJobBatchDelay`, as its page on performance advises for many fast jobs; sizes and delays tried, for ' +
      'latency also without either. It deletes a job that is done: there is no history to keep.',
  },
  tunings: {
    single: poolTunings,
    bulk: [...bulkTunings.map((tuning) => ({ ...tuning, viaSql: true })), ...bulkTunings.slice(0, 1)],
    drain: [
      { localQueue: 500, settleAfterMs: 0 },
      { localQueue: 500, settleAfterMs: 10 },
      { localQueue: 2_000, settleAfterMs: 0 },
      { localQueue: 2_000, settleAfterMs: 50 },
      { localQueue: 2_000, settleAfterMs: 250 },
      { localQueue: 5_000, settleAfterMs: 50 },
    ],
    latency: [{}, { settleAfterMs: 0 }, { localQueue: 100, settleAfterMs: 0 }],
  },
  hasInTx: true,
  setup,
  prepareWorker,
}

async function setup(url: string, { connections, inFlight, viaSql }: Tuning): Promise<Session> {
  const { Logger, makeWorkerUtils } = await import('graphile-worker')
  const workerUtils = await makeWorkerUtils({
    connectionString: url,
    maxPoolSize: connections ?? inFlight ?? 1,
    logger: new Logger(() => () => {}),
  })
  await workerUtils.migrate()
  return {
    enqueueOne: (input) => workerUtils.addJob(task, input),
    enqueueBulk(inputs) {
      const specs = inputs.map((payload) => ({ identifier: task, payload }))
      if (!viaSql) return workerUtils.addJobs(specs)
      return workerUtils.withPgClient((client) => client.query(addJobs, [JSON.stringify(specs)]))
    },
    enqueueInTx: (client, input) =>
      client.query('select graphile_worker.add_job($1, payload => $2::json)', [task, JSON.stringify(input)]),
    count: () => countRows(url, 'graphile_worker.jobs'),
    unfinished: () => countRows(url, 'graphile_worker._private_jobs'),
    teardown: async () => workerUtils.release(),
  }
}

async function prepareWorker(
  url: string,
  { localQueue, settleAfterMs = -1 }: Tuning,
  { concurrency, run }: Work,
): Promise<PreparedWorker> {
  const graphile = await import('graphile-worker')
  let runner: { stop(): Promise<void> } | undefined
  return {
    async start() {
      runner = await graphile.run({
        connectionString: url,
        taskList: {
          [task]: (payload) => {
            run((payload as Input).n)
          },
        },
        noHandleSignals: true,
        parsedCronItems: [],
        logger: new graphile.Logger(() => () => {}),
        preset: {
          worker: {
            concurrentJobs: concurrency,
            completeJobBatchDelay: settleAfterMs,
            failJobBatchDelay: settleAfterMs,
            ...(localQueue !== undefined && { localQueue: { size: localQueue } }),
          },
        },
      })
    },
    stop: async () => runner?.stop(),
  }
}
