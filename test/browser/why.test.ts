import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { settled, stage, takePictures } from './stage.ts'

const send = defineJob({ kind: 'invoice.send', queue: 'billing' })
const given = stage({ contracts: [send] })

/** Two of five jobs of a key run, and its limit is two. */
async function givenFullKey(): Promise<{ running: string; waiting: string }> {
  const { jobs } = await given.stint.enqueueMany(send, Array(5).fill({}), { key: 'acme' })
  const [one, two, , , last] = jobs.map(({ id }) => id)
  const worker = '00000000-0000-4000-8000-00000000ab12'
  await given.db.query(
    `insert into stint.worker (id, lease_until, about) values ($1, now() + interval '1 hour', $2)`,
    [worker, JSON.stringify({ queues: { billing: 20 }, kinds: [send.kind], versions: { [send.kind]: 1 } })],
  )
  await given.db.query(
    `insert into stint.concurrency_limit (name, by_key, max) values ('billing/tenant', true, 2)`,
  )
  await given.db.query(
    `insert into stint.limit_cover (queue, type, name) values ('billing', 'concurrency', 'billing/tenant')`,
  )
  await given.db.query(`insert into stint.queue (name, is_limited) values ('billing', true)`)
  await given.db.query(
    `update stint.job
        set state = 'running', worker_id = $1, lease_id = gen_random_uuid(), epoch = 1, attempt = 1,
            started_at = now() - interval '10 min'
      where id = any($2)`,
    [worker, [one, two]],
  )
  await given.db.query(`select stint.rebase('billing')`)
  return { running: one ?? '', waiting: last ?? '' }
}

test('the page of a waiting job shows what it waits for, in the words of the library, and follows a change', async () => {
  const { running, waiting } = await givenFullKey()
  const page = await given.open(`jobs/${waiting}`, { role: 'viewer', viewport: { width: 1440, height: 900 } })
  const why = page.getByRole('region', { name: 'Why not running?' })
  // The section is there before its answer.
  await why.locator('.why-list li').first().waitFor()
  const { predicates } = await given.stint.why(waiting)
  const marks = await why.locator('.why-list li').allTextContents()
  const words = { true: 'holds', false: 'does not hold', null: 'not judged' }
  expect(marks.map((mark) => mark.replace('–', ''))).toEqual(
    predicates.map(({ name, holds }) => `${name}: ${words[String(holds) as keyof typeof words]}`),
  )
  // Spans go on while the page loads.
  const spans = /\b\d[\d.]*(ms|[smhd])(\d+[smhd])?/g
  const says = predicates.find(({ name }) => name === 'limit')?.says ?? ''
  expect(says).toContain('key acme 2/2 of billing/tenant')
  const shown = await page.evaluate<string>(`document.querySelector('.why-first dd').firstChild.textContent`)
  expect(shown.replaceAll(spans, '#')).toBe(says.replaceAll(spans, '#'))
  await expect.poll(() => why.getByRole('link').first().getAttribute('href')).toContain(running)
  await takePictures(page, 'why')
  await page.keyboard.press('w')
  expect(await page.evaluate<string>('document.activeElement.className')).toContain('why')
  await given.db.query(`update stint.concurrency_limit set max = 3 where name = 'billing/tenant'`)
  await page.getByText('2 ahead within its key').waitFor({ timeout: 20_000 })
  await settled(page)
})

test('the page of a running job has its timeline and does not ask why it does not run', async () => {
  const [row] = await given.db.query<{ id: string }>(
    `select id from stint.job where state = 'running' limit 1`,
  )
  const page = await given.open(`jobs/${row?.id ?? ''}`, { role: 'viewer' })
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  expect(await page.getByText('Why not running?').count()).toBe(0)
})
