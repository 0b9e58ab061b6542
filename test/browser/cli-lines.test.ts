/*
 * A dialog also shows its action as a command line. These tests type each line into a shell, as a person who copied it
 * would, and check what it does.
 */
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Worker } from '../../src/worker.ts'
import { typed } from '../support/cli.ts'
import { bury } from '../support/dead-letters.ts'
import { charge, chargeCard, contracts, sendMail } from './shop.ts'
import { stage } from './stage.ts'

const given = stage({ contracts })
const reason = `it's "fixed" in $HOME`
const group = 'b02c9e51b02c9e51'

/** Types the line that the page shows. `more` answers a confirmation in advance, because there is no terminal. */
async function type(line: string, more = ''): Promise<string> {
  const { code, stdout, stderr } = await typed(`${line}${more}`, given.db.url)
  expect({ line, code, stderr }).toMatchObject({ line, code: 0 })
  return stdout
}

/** The line of the open dialog, once it contains these parts. */
async function lineOf(page: Page, ...parts: (string | RegExp)[]): Promise<string> {
  let line = page.locator('dialog .cli code')
  for (const part of parts) line = line.filter({ hasText: part })
  await line.waitFor()
  return (await line.textContent()) ?? ''
}

/** The line beside a button that acts without a dialog. */
async function lineBeside(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name, exact: true }).waitFor()
  return (await page.getByLabel(`${name}, on the command line`).textContent()) ?? ''
}

async function because(page: Page): Promise<void> {
  await page.getByLabel('Reason, for the audit').fill(reason)
}

async function noted(action: string, target: string): Promise<string | null | undefined> {
  const [entry] = await given.db.query<{ reason: string | null }>(
    'select reason from stint.audit where action = $1 and target = $2',
    [action, target],
  )
  return entry?.reason
}

/** A replay waits until its jobs end: here they succeed. */
async function workOn(queue: string): Promise<void> {
  const worker = new Worker({ connection: given.db.url, queues: { [queue]: 2 }, log: false })
  await worker.handle(chargeCard, () => ({ receipt: 'r' })).start()
  onTestFinished(() => worker.stop())
}

async function deadLetter(queue = `dead.${randomUUID().slice(0, 8)}`): Promise<string> {
  const { id } = await given.stint.enqueue(chargeCard, charge(7), { queue })
  await bury(given.db, id, { fingerprint: group, error: { name: 'CardDeclined', message: 'no' } })
  await given.db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ($1, 'card.charge', 'transient', 'CardDeclined', 'no', 'no', now(), now(), $2)
     on conflict (fingerprint) do update set status = 'open'`,
    [group, id],
  )
  return id
}

async function schedule(): Promise<string> {
  const name = `nightly.${randomUUID().slice(0, 8)}`
  const input = { to: 'all@example.com', template: 'reminder' } as const
  await given.stint.schedules.set({ name, job: sendMail, input, cron: '0 2 * * *' })
  return name
}

test('the command lines of a job move it, reprioritize it and cancel it', async () => {
  const { id } = await given.stint.enqueue(chargeCard, charge(1))
  const page = await given.open(`jobs/${id}?panel=reschedule`)
  await page.getByLabel('When to run').fill('2h')
  await because(page)
  await type(await lineOf(page, '--delay 2h', '--reason'))
  expect((await given.stint.get(id))?.state).toBe('scheduled')
  expect(await noted('job.reschedule', id)).toBe(reason)
  await page.getByLabel('When to run').fill('2036-01-02T03:04:05Z')
  await type(await lineOf(page, '--at 2036'))
  expect((await given.stint.get(id))?.runAt.toISOString()).toBe('2036-01-02T03:04:05.000Z')

  await page.goto(`${given.url}jobs/${id}?panel=reprioritize`)
  await page.getByRole('spinbutton', { name: 'Priority' }).fill('-7')
  await type(await lineOf(page, '--priority=-7'))
  expect((await given.stint.get(id))?.priority).toBe(-7)

  await page.goto(`${given.url}jobs/${id}?panel=cancel`)
  await type(await lineOf(page, 'cancel'))
  expect((await given.stint.get(id))?.state).toBe('cancelled')
})

test('the command lines beside the buttons of a job discard, restore and replay it and make it due', async () => {
  const id = await deadLetter()
  const page = await given.open(`jobs/${id}`)
  await type(await lineBeside(page, 'Discard'))
  expect((await given.stint.get(id))?.discardedAt).not.toBeNull()
  await type(await lineBeside(page, 'Restore'))
  expect((await given.stint.get(id))?.discardedAt).toBeNull()
  await type(await lineBeside(page, 'Replay'))
  expect((await given.stint.get(id))?.state).toBe('ready')
  const { id: later } = await given.stint.enqueue(chargeCard, charge(3), { delay: '1h' })
  await page.goto(`${given.url}jobs/${later}`)
  await type(await lineBeside(page, 'Run now'))
  expect((await given.stint.get(later))?.state).toBe('ready')
})

test('the command lines of an error resolve it in a version and ignore it for a time', async () => {
  await deadLetter()
  const page = await given.open(`dead?group=${group}&panel=resolve`)
  await page.getByLabel('Fixed in version').fill('v215')
  await because(page)
  await type(await lineOf(page, '--in v215', '--reason'))
  expect(await given.stint.errors.get(group)).toMatchObject({ status: 'resolved', resolvedIn: 'v215' })
  expect(await noted('error.resolve', group)).toBe(reason)
  await given.stint.errors.reopen(group)
  await page.goto(`${given.url}dead?group=${group}&panel=ignore`)
  await page.getByLabel('Ignore for').fill('2d')
  await type(await lineOf(page, '--for 2d'))
  expect(await given.stint.errors.get(group)).toMatchObject({ status: 'ignored' })
  await page.goto(`${given.url}dead?status=ignored&group=${group}`)
  await type(await lineBeside(page, 'Reopen'))
  expect(await given.stint.errors.get(group)).toMatchObject({ status: 'open' })
  const get = page.locator('main .cli code', { hasText: 'error get' })
  expect(await type((await get.textContent()) ?? '')).toContain(group)
})

test('the command lines of many jobs discard them, and replay an error group with a canary', async () => {
  const queue = `many.${randomUUID().slice(0, 8)}`
  const ids = [await deadLetter(queue), await deadLetter(queue)]
  const filter = encodeURIComponent(`queue:${queue} state:dead`)
  const page = await given.open(`jobs?where=${filter}&all=1&panel=op-discard`)
  await because(page)
  await type(await lineOf(page, queue, 'fixed'), ' --yes --max 10')
  const [started] = (await given.stint.operations.list({ limit: 1 })).operations
  expect(started).toMatchObject({ action: 'discard', reason })
  for (const id of ids) expect((await given.stint.get(id))?.discardedAt).not.toBeNull()

  const again = [await deadLetter(queue), await deadLetter(queue)]
  await page.goto(`${given.url}dead?group=${group}&panel=op-replay`)
  await page.getByLabel('Canary: first').check()
  await page.getByLabel('Jobs of the canary').fill('1')
  await because(page)
  const line = await lineOf(page, /--canary 1\b/, 'fixed')
  await type(line, ' --dry-run')
  // The jobs of the group in other queues have no worker.
  await given.db.query(`delete from stint.dead where queue <> $1`, [queue])
  await workOn(queue)
  await type(line.replace('--canary 1', '--canary 0'), ' --yes --max 100')
  for (const id of again) expect((await given.stint.get(id))?.state).toBe('succeeded')
})

test('the command lines of an operation pause and resume it beside the buttons, and abort it in the dialog', async () => {
  const queue = `steered.${randomUUID().slice(0, 8)}`
  // One job in ten seconds: enough that the operation does not end before the last line is typed.
  for (let n = 0; n < 12; n++) await deadLetter(queue)
  const as = given.stint.as({ actor: 'ana', role: 'operator', origin: 'api' })
  const request = { action: 'discard', where: `queue:${queue}`, pace: 0.1, reason } as const
  const { id } = await as.operations.start(request)
  const page = await given.open(`operations/${id}`)
  await type(await lineBeside(page, 'Pause'))
  expect((await given.stint.operations.get(id))?.state).toBe('paused')
  await type(await lineBeside(page, 'Resume'))
  expect((await given.stint.operations.get(id))?.state).toMatch(/pending|ramping/)
  await page.getByRole('button', { name: 'Abort…' }).click()
  await because(page)
  await type(await lineOf(page, `op abort ${id}`, '--reason'))
  expect((await given.stint.operations.get(id))?.state).toBe('aborted')
  expect(await noted('operation.abort', id)).toBe(reason)
})

test('the command line of a queue sets how long it keeps its jobs', async () => {
  const queue = `kept.${randomUUID().slice(0, 8)}`
  await given.stint.enqueue(chargeCard, charge(2), { queue })
  const page = await given.open(`queues/${queue}?panel=settings`)
  await page.getByLabel('Keep finished jobs').fill('3d')
  await page.getByLabel('Keep dead letters').fill('forever')
  await because(page)
  await type(await lineOf(page, '--keep 3d', '--reason'))
  expect((await given.stint.queues.get(queue)).keepMs).toBe(3 * 86_400_000)
  expect(await noted('queue.set', queue)).toBe(reason)
})

test('the command lines of a queue pause and resume a key of it', async () => {
  const queue = `paused.${randomUUID().slice(0, 8)}`
  await given.stint.enqueue(chargeCard, charge(2), { queue })
  const page = await given.open(`queues/${queue}?panel=pause`)
  await page.getByRole('radio', { name: 'key' }).check()
  await page.getByLabel('Key', { exact: true }).fill("-it's")
  await page.getByLabel('End').fill('2h')
  await because(page)
  await type(await lineOf(page, '--key=-it', '--for 2h', '--reason'))
  expect((await given.stint.queues.get(queue)).pauses).toMatchObject([{ key: "-it's", reason }])
  expect(await noted('queue.pause', queue)).toBe(reason)
  await page.goto(`${given.url}queues/${queue}`)
  const line = page.locator('main .cli code', { hasText: 'queue resume' })
  await line.waitFor()
  await type((await line.textContent()) ?? '')
  expect((await given.stint.queues.get(queue)).pauses).toEqual([])
})

test('the command lines of a schedule run, backfill, pause and resume it', async () => {
  const name = await schedule()
  const page = await given.open(`schedules?schedule=${name}`)
  const jobId = (await type(await lineBeside(page, 'Run now'))).trim()
  expect((await given.stint.get(jobId))?.kind).toBe('mail.send')
  await page.goto(`${given.url}schedules?schedule=${name}&panel=backfill`)
  await page.getByLabel('From').fill('2026-03-01T00:00')
  await page.getByLabel('To').fill('2026-03-03T00:00')
  await because(page)
  await type(await lineOf(page, '--from 2026-03-01', '--to 2026-03-03', '--reason'))
  expect(await noted('schedule.backfill', name)).toBe(reason)
  const fires = await given.stint.schedules.fires(name, { before: '2026-04-01T00:00:00Z' })
  expect(fires.map(({ outcome }) => outcome)).toEqual(['fired', 'fired'])
  await page.goto(`${given.url}schedules?schedule=${name}&panel=pause`)
  await page.getByLabel('For', { exact: true }).fill('2d')
  await because(page)
  await type(await lineOf(page, '--for 2d', '--reason'))
  expect(await given.stint.schedules.get(name)).toMatchObject({ isPaused: true, pauseReason: reason })
  await page.goto(`${given.url}schedules?schedule=${name}`)
  await type(await lineBeside(page, 'Resume'))
  expect(await given.stint.schedules.get(name)).toMatchObject({ isPaused: false })
})

test('the command lines of an operation set its pace, and start the whole operation again', async () => {
  const queue = `pace.${randomUUID().slice(0, 8)}`
  const ids = [await deadLetter(queue), await deadLetter(queue)]
  const as = given.stint.as({ actor: 'ana', role: 'operator', origin: 'api' })
  const where = `queue:${queue}`
  // The operation waits for its canary, because no worker runs it: so it stays active until it is aborted.
  const { id } = await as.operations.start({ action: 'replay', where, reason, pace: 5, canary: 1 })
  await as.operations.pause(id)
  const page = await given.open(`operations/${id}?panel=pace`)
  await page.getByLabel('Jobs a second').fill('12')
  await type(await lineOf(page, ' 12'))
  expect((await given.stint.operations.get(id))?.pace).toBe(12)
  await page.getByLabel('Jobs a second').fill('')
  await type(await lineOf(page, ' max'))
  expect((await given.stint.operations.get(id))?.pace).toBeNull()
  await as.operations.abort(id)
  await page.goto(`${given.url}operations/${id}`)
  const whole = page.locator('main .cli code', { hasText: 'dead replay' })
  await whole.waitFor()
  const line = (await whole.textContent()) ?? ''
  await workOn(queue)
  await type(line, ' --yes --max 10')
  for (const each of ids) expect((await given.stint.get(each))?.state).toBe('succeeded')
})

test('the command line of the system screen runs the doctor', async () => {
  const page = await given.open('system')
  const line = page.locator('main .cli code').filter({ hasText: /^stint doctor$/ })
  await line.waitFor()
  const { code, stdout } = await typed((await line.textContent()) ?? '', given.db.url)
  // The doctor exits with 7 when it finds something.
  expect([0, 7]).toContain(code)
  expect(stdout).toContain('PostgreSQL')
})
