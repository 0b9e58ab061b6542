import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { binOf } from '../../src/core/histogram.ts'
import type { Stint } from '../../src/index.ts'
import { defineSchedule } from '../../src/index.ts'
import { PermanentError, Worker } from '../../src/worker.ts'
import { eventually } from '../support/eventually.ts'
import type { TestDatabase } from '../support/database.ts'
import { charge, chargeCard, renderReport, resizeImage, sendMail } from './shop.ts'

export class CardDeclined extends Error {
  override readonly name = 'CardDeclined'
}

export interface Life {
  /** A dead letter of the largest group. */
  deadJob: string
  /** That group. */
  group: string
  /** Runs until the scene ends, with progress and log lines. */
  heldJob: string
  stop(): Promise<void>
}

/**
 * An afternoon of a small shop: an hour of figures, jobs in every state, two error groups with dead letters, schedules, a
 * queue without a worker, and live workers.
 */
export async function beginLife({
  db,
  stint,
  connection,
}: {
  db: Pick<TestDatabase, 'query'>
  stint: Stint
  connection: string
}): Promise<Life> {
  await giveHistory(db)
  await giveSchedules(db, stint)
  const held = new AbortController()
  const workers = ['v214', 'v214', 'v213'].map((version) =>
    workerOf({ connection, version, held: held.signal }),
  )
  await Promise.all(workers.map((worker) => worker.start()))

  await stint.enqueueMany(
    chargeCard,
    Array.from({ length: 40 }, (_, index) => charge(9_007_199_254_740_000 + index, 900 + index * 37)),
  )
  await stint.enqueueMany(
    sendMail,
    Array.from({ length: 24 }, (_, index) => ({
      to: `${['ana', 'bo', 'cy', 'dee'][index % 4] ?? 'eve'}@example.com`,
      template: (['welcome', 'receipt', 'reminder'] as const)[index % 3] ?? 'welcome',
    })),
  )
  await stint.enqueueMany(
    resizeImage,
    Array.from({ length: 30 }, (_, index) => ({
      imageId: `img-${1_000 + index}`,
      width: index % 9 === 4 ? 1 : 800,
    })),
  )
  const { id: heldJob } = await stint.enqueue(resizeImage, { imageId: 'img-held', width: 3_200 })
  await stint.enqueueMany(
    renderReport,
    ['2026-08', '2026-09', '2026-10'].map((month) => ({ month })),
  )
  await stint.enqueue(renderReport, { month: '2026-11' }, { delay: '14d' })
  await stint.enqueue(sendMail, { to: 'late@example.com', template: 'reminder' }, { delay: '3d' })
  const { id: unwanted } = await stint.enqueue(renderReport, { month: '1999-01' }, { delay: '1d' })
  await stint.cancel(unwanted, { reason: 'asked for twice' })

  let dead: { id: string; fingerprint: string }[] = []
  await eventually(async () => {
    const [left] = await db.query<{ count: number }>(
      `select count(*)::int as count from stint.job where queue in ('billing', 'media') and id <> $1`,
      [heldJob],
    )
    dead = await db.query(`select id, fingerprint from stint.dead where kind = 'card.charge' order by id`)
    const failed = await db.query('select distinct kind from stint.error_group')
    const running = await db.query(`select from stint.job where id = $1 and progress is not null`, [heldJob])
    if (left?.count !== 0 || dead.length < 10 || failed.length < 3 || running.length !== 1)
      throw new Error('not yet')
  })
  const [first] = dead
  if (first === undefined) throw new Error('No job died')
  return {
    deadJob: first.id,
    group: first.fingerprint,
    heldJob,
    stop: async () => {
      held.abort()
      await Promise.all(workers.map((worker) => worker.stop()))
    },
  }
}

function workerOf({
  connection,
  version,
  held,
}: {
  connection: string
  version: string
  held: AbortSignal
}): Worker {
  return new Worker({
    connection,
    version,
    log: false,
    drain: '1s',
    pollFloor: '200ms',
    queues: { billing: 5, mail: 5, media: 10 },
  })
    .handle(chargeCard, async ({ orderId }, ctx) => {
      ctx.log.info('charging', { orderId })
      await pause(20 + (orderId % 40))
      if (orderId % 4 === 0) {
        ctx.log.warn('the provider says no', { code: 'do_not_honor' })
        const cause = new Error('402 from api.pay.example')
        throw thrownAt(
          new CardDeclined(`do not honor, order ${orderId}`, { cause }),
          'charge (/app/src/billing/charge.ts:41:11)',
        )
      }
      return { charged: true, receipt: `r-${orderId}` }
    })
    .handle(sendMail, async ({ to }) => {
      await pause(10)
      if (to.startsWith('cy'))
        throw thrownAt(
          new Error('connect ETIMEDOUT smtp.example.com:587'),
          'send (/app/src/mail/send.ts:18:9)',
        )
    })
    .handle(resizeImage, async ({ imageId, width }, ctx) => {
      if (width === 1)
        throw thrownAt(
          new PermanentError('an image of one pixel is no image'),
          'resize (/app/src/media/resize.ts:27:13)',
        )
      if (imageId !== 'img-held') return { url: `https://images.example.com/${imageId}-${width}.webp` }
      ctx.log.info('reading', { imageId })
      await ctx.progress(42, 'tile 21 of 50')
      await new Promise((resolve) => {
        held.addEventListener('abort', resolve)
        ctx.signal.addEventListener('abort', resolve)
      })
      return { url: 'none' }
    })
}

/** Replaces the stack by one of a server, so that pictures show no path of the machine that makes them. */
function thrownAt<Thrown extends Error>(error: Thrown, place: string): Thrown {
  error.stack = [
    `${error.name}: ${error.message}`,
    `    at ${place}`,
    '    at async execute (/app/node_modules/stint/dist/worker/execute.js:39:21)',
  ].join('\n')
  return error
}

/** Writes an hour of figures, minute by minute, as processes would have counted them. */
async function giveHistory(db: Pick<TestDatabase, 'query'>): Promise<void> {
  const kinds = [
    ['billing', 'card.charge', 260, 0.03],
    ['mail', 'mail.send', 620, 0.01],
    ['media', 'image.resize', 1_400, 0.004],
  ] as const
  for (const [queue, kind, usual, failing] of kinds) {
    for (let ago = 60; ago > 0; ago--) {
      const wave = 1 + 0.25 * Math.sin(ago / 9) + 0.12 * Math.sin(ago * 2.1 + usual)
      const started = Math.round(usual * wave)
      const failed = Math.round(started * failing * (ago < 18 && queue === 'billing' ? 4 : 1))
      const dead = Math.round(failed / 6)
      await db.query(
        `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, dead, wait, run)
         values (date_trunc('minute', now()) - $1 * interval '1 minute', $2, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11)`,
        [
          ...[ago, queue, kind, randomUUID()],
          ...[
            Math.round(started * (1 + 0.1 * Math.sin(ago / 4))),
            started,
            started - failed - dead,
            failed,
            dead,
          ],
          ...[bins(started, 40 * (1 + Math.abs(Math.sin(ago / 6)))), bins(started, usual > 1_000 ? 90 : 320)],
        ],
      )
    }
  }
}

/** A distribution around the middle: most near it, a few far above. */
function bins(count: number, middleMs: number): Record<string, number> {
  const spread = [
    [0.6, 0.2],
    [1, 0.46],
    [1.6, 0.22],
    [3, 0.08],
    [7, 0.04],
  ] as const
  return Object.fromEntries(
    spread.map(([times, share]) => [binOf(middleMs * times), Math.max(1, Math.round(count * share))]),
  )
}

async function giveSchedules(db: Pick<TestDatabase, 'query'>, stint: Stint): Promise<void> {
  const all = [
    defineSchedule({
      name: 'nightly-report',
      job: renderReport,
      cron: '0 2 * * *',
      timeZone: 'Europe/Rome',
      input: { month: '2026-11' },
      overlap: 'skip',
    }),
    defineSchedule({
      name: 'reminders',
      job: sendMail,
      every: '15m',
      input: { to: 'all@example.com', template: 'reminder' },
    }),
    defineSchedule({
      name: 'weekly-digest',
      job: sendMail,
      cron: '30 9 * * 1',
      timeZone: 'America/New_York',
      input: { to: 'team@example.com', template: 'receipt' },
    }),
  ]
  for (const schedule of all) await stint.schedules.set(schedule)
  await stint.schedules.pause('weekly-digest', { for: '6d', reason: 'holidays' })
  for (const [name, gap] of [
    ['nightly-report', 'day'],
    ['reminders', 'hour'],
  ] as const) {
    for (let ago = 20; ago > 0; ago--) {
      const [outcome, reason] =
        ago === 4
          ? ['missed', 'no worker was there']
          : ago === 9 || ago === 10
            ? ['skipped', 'overlap']
            : ['fired', null]
      await db.query(
        `insert into stint.fire (schedule, fire_at, outcome, job_id, reason, at)
         values ($1, date_trunc('${gap}', now()) - $2 * interval '1 ${gap}', $3::text, case when $3::text = 'fired' then gen_random_uuid() end, $4,
                 date_trunc('${gap}', now()) - $2 * interval '1 ${gap}')`,
        [name, ago, outcome, reason],
      )
    }
  }
}
