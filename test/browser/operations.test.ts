import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { Worker } from '../../src/worker.ts'
import { runStint } from '../support/cli.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually } from '../support/eventually.ts'
import { charge, chargeCard, contracts } from './shop.ts'
import { keepScreen, stage } from './stage.ts'

const given = stage({ contracts })

function newQueue(): string {
  return `many.${randomUUID().slice(0, 8)}`
}

async function deadLetters(queue: string, count: number): Promise<string[]> {
  const inputs = Array.from({ length: count }, (_, index) => charge(1_000 + index))
  const { jobs } = await given.stint.enqueueMany(chargeCard, inputs, { queue })
  const ids = jobs.map(({ id }) => id)
  for (const id of ids) await bury(given.db, id, { fingerprint: 'b02c9e51b02c9e51' })
  return ids
}

function openAct(queue: string, action: string): Promise<Page> {
  const where = encodeURIComponent(`queue:${queue} state:dead`)
  return given.open(`jobs?where=${where}&all=1&panel=op-${action}`, { role: 'operator' })
}

async function trashed(ids: readonly string[]): Promise<boolean[]> {
  return Promise.all(ids.map(async (id) => ((await given.stint.get(id))?.discardedAt ?? null) !== null))
}

async function isDone(page: Page): Promise<void> {
  await page.waitForURL('**/operations/*')
  await page.locator('h1 .state-succeeded', { hasText: 'done' }).waitFor({ timeout: 50_000 })
}

test('a replay "All at once" of more than a hundred jobs has no canary and no pace, and its command line says so', async () => {
  const queue = newQueue()
  await deadLetters(queue, 101)
  const page = await openAct(queue, 'replay')
  await page.getByRole('heading', { name: 'Replay 101 jobs' }).waitFor()
  await page.locator('.cli code', { hasText: '--pace 20/s' }).waitFor()
  await page.getByLabel('All at once').check()
  await page.locator('.cli code', { hasText: '--canary 0 --pace max' }).waitFor()
  await page.getByLabel('Reason, for the audit').fill('fixed in v215')
  await page.getByRole('button', { name: 'Replay 101 jobs' }).click()
  await page.waitForURL('**/operations/*')
  await page.getByText('101/101').waitFor({ timeout: 50_000 })
  // No worker runs these jobs, and the page says so instead of "done".
  const facts = (await page.locator('.facts').allTextContents()).join(' ')
  expect(facts).toContain('Paceas fast as it goes')
  expect(facts).toContain('Succeeded0Still live101')
}, 180_000)

test('a replayed group that fails again ends red, with the same counts on the page, over HTTP and on the command line', async () => {
  const queue = newQueue()
  const startWorker = async (errorOf: (orderId: number) => string | undefined): Promise<Worker> => {
    const worker = new Worker({ connection: given.db.url, queues: { [queue]: 5 }, log: false })
    worker.handle(chargeCard, ({ orderId }) => {
      const name = errorOf(orderId)
      if (name !== undefined) throw Object.assign(new Error('do not honor'), { name })
    })
    await worker.start()
    onTestFinished(() => worker.stop())
    return worker
  }
  const broken = await startWorker(() => 'CardDeclined')
  const inputs = Array.from({ length: 12 }, (_, index) => charge(index))
  const { jobs } = await given.stint.enqueueMany(chargeCard, inputs, { queue })
  await eventually(async () => {
    for (const { id } of jobs) expect((await given.stint.get(id))?.state).toBe('dead')
  })
  await broken.stop()
  await startWorker((orderId) => (orderId < 4 ? 'CardDeclined' : orderId === 4 ? 'NetworkDown' : undefined))
  const page = await openAct(queue, 'replay')
  await page.getByLabel('All at once').check()
  await page.locator('.cli code', { hasText: '--canary 0' }).waitFor()
  await page.getByLabel('Reason, for the audit').fill('fixed in v215')
  await page.getByRole('button', { name: 'Replay 12 jobs' }).click()
  await page.waitForURL('**/operations/*')
  await page.locator('h1 .state-dead', { hasText: 'done, died again' }).waitFor({ timeout: 50_000 })
  await page
    .locator('main .note-fail', {
      hasText: '5 of 12 died again: 4 with the error they had died of, 1 with another.',
    })
    .waitFor()
  expect((await page.locator('.facts').allTextContents()).join(' ')).toContain(
    'Succeeded7Had not ended0Died again, same error4Died again, another error1',
  )
  const id = new URL(page.url()).pathname.split('/').pop() ?? ''
  const answer = await page.request.get(`${given.url}v1/operations/${id}`)
  expect(await answer.json()).toMatchObject({
    state: 'done',
    acted: 12,
    note: expect.stringContaining('5 of 12 died again') as string,
    fates: { live: 0, succeeded: 7, sameError: 4, otherError: 1, cancelled: 0 },
  })
  expect((await runStint(['op', 'get', id], given.db.url)).stdout).toMatch(
    /state +done, died again\n[^]*acted +12\n +succeeded +7\n +had not ended +0\n +died again +5: 4 with the same error, 1 with another\n/,
  )
}, 180_000)

test('Back after the start of an operation shows the jobs it was started from, and no dialog', async () => {
  const queue = newQueue()
  const [id = ''] = await deadLetters(queue, 1)
  const page = await given.open(`jobs?where=${encodeURIComponent(`queue:${queue}`)}&all=1`)
  await page.getByRole('button', { name: 'Discard…' }).click()
  await page.getByLabel('Reason, for the audit').fill('never mind')
  await page.getByRole('button', { name: 'Discard 1 job' }).click()
  await isDone(page)
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await page.getByLabel('Filter', { exact: true }).waitFor()
  expect(new URL(page.url()).searchParams.has('panel')).toBe(false)
  expect(await page.locator('dialog').count()).toBe(0)
  expect(await trashed([id])).toEqual([true])
})

test('an operation on more than a thousand jobs needs the number typed, and acts on exactly that many', async () => {
  const [queue, other] = [newQueue(), newQueue()]
  const many = Array.from({ length: 1_203 }, (_, index) => charge(20_000 + index))
  await given.stint.enqueueMany(chargeCard, many, { queue })
  // Jobs of the same queue in another state, and of another queue in the same state.
  await given.stint.enqueueMany(chargeCard, [charge(1), charge(2)], { queue, delay: '1d' })
  await given.stint.enqueueMany(chargeCard, [charge(3)], { queue: other })
  const where = encodeURIComponent(`queue:${queue} state:ready`)
  const page = await given.open(`jobs?where=${where}`, { role: 'operator' })
  await page.getByText('All that match').click()
  await page.getByText('All matching:').waitFor()
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.getByRole('heading', { name: 'Cancel 1,203 jobs' }).waitFor()
  const act = page.getByRole('button', { name: 'Cancel 1,203 jobs' })
  const typed = page.getByLabel('Type 1203 to confirm')
  await page.getByLabel('Reason, for the audit').fill('sent twice')
  // The number of one page, or of nearly all, does not confirm it.
  for (const wrong of ['', '50', '1202', '12030']) {
    await typed.fill(wrong)
    expect(await act.isDisabled(), wrong).toBe(true)
  }
  await keepScreen(page, 'jobs-all-matching')
  await typed.fill('1,203')
  await act.click()
  await isDone(page)
  const facts = (await page.locator('.facts').allTextContents()).join(' ')
  expect(facts).toContain('Acted1,203')
  expect(facts).toContain('Matched1,203')
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const operation = { action: 'cancel', matched: 1_203, acted: 1_203, skipped: 0, failed: 0 }
  expect(await given.stint.operations.get(id)).toMatchObject({ ...operation, reason: 'sent twice' })
  const left = await given.db.query(
    `select queue, state, count(*)::integer as jobs from stint.job where queue in ($1, $2) group by 1, 2 order by 2`,
    [queue, other],
  )
  expect(left).toEqual([
    { queue, state: 'scheduled', jobs: 2 },
    { queue: other, state: 'ready', jobs: 1 },
  ])
  const ended = await given.db.query(
    `select state, count(*)::integer as jobs from stint.finished where queue in ($1, $2) group by 1`,
    [queue, other],
  )
  expect(ended).toEqual([{ state: 'cancelled', jobs: 1_203 }])
}, 180_000)

test('an operation acts on no more jobs than were shown, even if more match since', async () => {
  const queue = newQueue()
  const [first = '', second = '', third = ''] = await deadLetters(queue, 3)
  await given.stint.dead.discard(third)
  const page = await openAct(queue, 'discard')
  await page.getByRole('heading', { name: 'Discard 2 jobs' }).waitFor()
  await page.getByLabel('Reason, for the audit').fill('never mind')
  // A job that dies meanwhile does not count; one that was dead before makes more matches than were shown.
  const [later = ''] = await deadLetters(queue, 1)
  await given.stint.dead.restore(third)
  await page.getByRole('button', { name: 'Discard 2 jobs' }).click()
  await page.getByText('Nothing was done: more match by now').waitFor()
  expect(await trashed([first, second, third, later])).toEqual([false, false, false, false])

  // The dialog counts again, with the job that died: the person agrees to this number now.
  await page.getByRole('heading', { name: 'Discard 4 jobs' }).waitFor()
  const [last = ''] = await deadLetters(queue, 1)
  await page.getByRole('button', { name: 'Discard 4 jobs' }).click()
  await isDone(page)
  await eventually(async () => {
    expect(await trashed([first, second, third, later, last])).toEqual([true, true, true, true, false])
  })
}, 180_000)

test('an abort asks for confirmation, and the audit has its reason', async () => {
  const queue = newQueue()
  const ids = await deadLetters(queue, 3)
  const as = given.stint.as({ actor: 'ana', role: 'operator', origin: 'api' })
  const request = { action: 'discard', where: `queue:${queue}`, pace: 0.1, reason: 'slowly' } as const
  const { id } = await as.operations.start(request)
  await as.operations.pause(id)
  const page = await given.open(`operations/${id}`, { role: 'operator' })
  await page.getByRole('button', { name: 'Abort…' }).click()
  await page
    .getByText(/The other [23] jobs will not be changed\. An aborted operation cannot be resumed\./)
    .waitFor()
  await page.getByRole('button', { name: 'Keep it' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  expect((await given.stint.operations.get(id))?.state).toBe('paused')
  await page.getByRole('button', { name: 'Abort…' }).click()
  await page.getByLabel('Reason, for the audit').fill('wrong queue')
  await page.getByRole('button', { name: 'Abort it' }).click()
  await page.locator('h1', { hasText: 'aborted' }).waitFor()
  // The reason is on the screen, and in the audit.
  await page.locator('main .note', { hasText: 'wrong queue' }).waitFor()
  const noted = await given.db.query(
    `select actor, reason from stint.audit where action = 'operation.abort' and target = $1`,
    [id],
  )
  expect(noted).toEqual([{ actor: 'otto', reason: 'wrong queue' }])
  expect(await trashed(ids)).toContain(false)
}, 180_000)

test('undoing a discard restores its own jobs, and leaves others in the trash', async () => {
  const queue = newQueue()
  const [first = '', second = '', others = ''] = await deadLetters(queue, 3)
  await given.stint.dead.discard(others)
  const page = await openAct(queue, 'discard')
  await page.getByLabel('Reason, for the audit').fill('never mind')
  await page.getByRole('button', { name: 'Discard 2 jobs' }).click()
  await isDone(page)
  await restoreAll(page, 2)
  expect(await trashed([first, second, others])).toEqual([false, false, true])
}, 180_000)

test('a discard of selected jobs can be undone', async () => {
  const queue = newQueue()
  const [first = '', second = '', left = ''] = await deadLetters(queue, 3)
  const where = encodeURIComponent(`queue:${queue} state:dead`)
  const page = await given.open(`jobs?where=${where}&sel=${first},${second}&panel=op-discard`)
  await page.getByLabel('Reason, for the audit').fill('never mind')
  await page.getByRole('button', { name: 'Discard 2 jobs' }).click()
  await isDone(page)
  expect(await trashed([first, second, left])).toEqual([true, true, false])
  await restoreAll(page, 2)
  expect(await trashed([first, second, left])).toEqual([false, false, false])
}, 180_000)

test('a discard of more jobs than can be listed is undone by its filter, and the dialog says so', async () => {
  const queue = newQueue()
  await deadLetters(queue, 2)
  const page = await openAct(queue, 'discard')
  await page.getByLabel('Reason, for the audit').fill('never mind')
  await page.getByRole('button', { name: 'Discard 2 jobs' }).click()
  await isDone(page)
  // The answer as it would be with a thousand jobs more.
  await page.route('**/v1/operations/*/jobs?*', async (route) => {
    const answer = (await (await route.fetch()).json()) as object
    await route.fulfill({ json: { ...answer, next: randomUUID() } })
  })
  await page.getByRole('button', { name: 'Restore…' }).click()
  await page.getByText('so this restores by its filter').waitFor()
  await page.locator('dialog .cli code', { hasText: `--where 'queue:${queue} is:discarded'` }).waitFor()
}, 180_000)

async function restoreAll(page: Page, count: number): Promise<void> {
  const before = page.url()
  await page.getByRole('button', { name: 'Restore…' }).click()
  await page.getByRole('heading', { name: `Restore ${count} jobs` }).waitFor()
  await page.getByLabel('Reason, for the audit').fill('it was the wrong group')
  await page.getByRole('button', { name: `Restore ${count} jobs` }).click()
  await page.waitForURL((url) => !before.startsWith(url.href.split('?')[0] ?? ''))
  await isDone(page)
}
