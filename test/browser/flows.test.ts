import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { typed } from '../support/cli.ts'
import { park, plantFlow } from '../support/planted-flow.ts'
import { settled, stage, takePictures } from './stage.ts'

const capture = defineJob({ kind: 'card.capture', queue: 'billing' })
const given = stage({ contracts: [capture] })
const checkout = {
  queue: 'billing',
  kind: 'card.capture',
  name: 'checkout',
  nodes: [
    { name: 'reserve', jobs: ['succeeded'] },
    { name: 'tax', jobs: ['succeeded'], after: [0] },
    { name: 'fraud', jobs: ['running'], after: [0] },
    { name: 'capture', jobs: ['dead'], after: [1] },
    { name: 'receipts', jobs: Array.from({ length: 80 }, () => 'waiting' as const), after: [3] },
    { name: 'ship', jobs: ['waiting'], after: [3, 2] },
  ],
} as const

test('a person finds a flow, reads its graph, list and waterfall, and replays its dead job by keyboard alone', async () => {
  const { id, jobs } = await plantFlow(given.db, checkout)
  const page = await given.open('', { role: 'operator', viewport: { width: 1440, height: 900 } })
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await page.getByRole('heading', { name: 'Flows' }).waitFor()
  const row = page.getByRole('row', { name: /^checkout/ })
  await expect.poll(() => row.innerText()).toMatch(/open\s.*3 of 85\s+1\s/s)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /^checkout …/ }).waitFor()
  const graph = page.getByRole('region', { name: /^Graph of this flow/ })
  await graph.getByRole('link', { name: /capture.*dead/s }).waitFor()
  await graph.getByRole('link', { name: /receipts × 80.*0 of 80 ended/s }).waitFor()
  await page.getByText('81 jobs, until the dead ones are replayed').waitFor()
  await takePictures(page, 'flow')
  await page.setViewportSize({ width: 1440, height: 900 })

  await page.getByRole('tab', { name: 'Graph' }).focus()
  await page.keyboard.press('ArrowRight')
  const nodes = page.getByRole('region', { name: 'Nodes of this flow' })
  expect(await nodes.getByRole('row', { name: /^ship/ }).innerText()).toMatch(
    /waiting\s+0 of 1\s+0\s+fraud to succeed, capture to succeed \(1 dead: replay\)/,
  )
  await takePictures(page, 'flow-list')
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByRole('tab', { name: 'List' }).focus()
  await page.keyboard.press('ArrowRight')
  const bars = page.getByRole('region', { name: 'When the jobs of this flow ran' })
  await bars.getByRole('row', { name: /^receipts × 80/ }).waitFor()
  await takePictures(page, 'flow-waterfall')
  await page.setViewportSize({ width: 1440, height: 900 })

  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason, for the audit').waitFor()
  const line = (await dialog.locator('.cli code').textContent()) ?? ''
  expect(line).toBe(`stint flow replay ${id}`)
  expect(await typed(`${line} --dry-run`, given.db.url)).toMatchObject({ code: 0 })
  await dialog.getByLabel('Reason, for the audit').focus()
  await page.keyboard.type('repaired')
  await page.keyboard.press('Enter')
  await page.getByText('1 job of checkout replayed.').waitFor()
  expect((await given.stint.get(jobs[3]?.[0] ?? ''))?.state).toBe('ready')
  expect(await given.stint.audit.list({ target: id })).toMatchObject({
    entries: [{ action: 'flow.replay', actor: 'otto', reason: 'repaired' }],
  })

  await page.getByRole('button', { name: 'Cancel…' }).click()
  await dialog.getByRole('button', { name: 'Cancel the flow' }).click()
  await page.getByText('checkout is cancelled.').waitFor()
  await settled(page)
})

test('a viewer sees a flow without its buttons, and a narrow screen shows the list first', async () => {
  const { id, jobs } = await plantFlow(given.db, checkout)
  const page = await given.open(`flows/${id}`, { role: 'viewer', viewport: { width: 390, height: 800 } })
  await page.getByRole('region', { name: 'Nodes of this flow' }).waitFor()
  expect(await page.getByRole('button', { name: /Replay|Cancel/ }).count()).toBe(0)
  await page.goto(`${given.url}jobs/${jobs[3]?.[0] ?? ''}`)
  await page.getByRole('link', { name: `…${id.slice(-4)}` }).click()
  await page.getByRole('heading', { name: /^checkout …/ }).waitFor()
  await settled(page)
})

test('the page of a parked job shows what was recorded and what was asked for, and resumes it', async () => {
  const { id } = await given.stint.enqueue(capture)
  await park(given.db, id)
  const page = await given.open(`jobs/${id}`, { role: 'operator', viewport: { width: 1440, height: 900 } })
  const note = page.getByRole('status').filter({ hasText: 'Parked' })
  await note.waitFor()
  expect(await note.innerText()).toMatch(/Recorded\s+step “draft”\s+Asked for\s+step “review”/)
  await takePictures(page, 'parked')
  await page.setViewportSize({ width: 1440, height: 900 })
  const lines = await note.locator('.cli code').allTextContents()
  for (const line of lines) expect(await typed(`${line} --dry-run`, given.db.url)).toMatchObject({ code: 0 })
  await note.getByRole('button', { name: 'Resume' }).click()
  await page.getByText(/is tried again\.$/).waitFor()
  expect((await given.stint.get(id))?.state).toBe('ready')
  await settled(page)
})
