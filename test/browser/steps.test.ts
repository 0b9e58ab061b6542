import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import { typed } from '../support/cli.ts'
import { settled, stage, takePictures } from './stage.ts'

const publish = defineJob({ kind: 'campaign.publish', queue: 'campaigns' })
const given = stage({ contracts: [publish] })

test('the page of a waiting job shows its steps and what it waits for; a person sends the signal', async () => {
  const worker = new Worker({ connection: given.db.url, queues: { campaigns: 2 }, log: false })
  const waits = new Promise<void>((resolve) =>
    worker.on('waiting', () => {
      resolve()
    }),
  )
  await worker
    .handle(publish, async (_input, ctx) => {
      await ctx.step('profile', () => ({ segments: ['a', 'b'], token: 'hidden' }))
      await ctx
        .step('draft', () => {
          throw new TypeError('the model is busy')
        })
        .catch(() => undefined)
      const answer = await ctx.waitForSignal('approved', { timeout: '3d' })
      await ctx.waitForSignal('published')
      return answer
    })
    .start()
  onTestFinished(() => worker.stop())
  const { id } = await given.stint.enqueue(publish)
  await waits

  const viewer = await given.open(`jobs/${id}`, { role: 'viewer' })
  await viewer.getByText('Your role may not see results.').waitFor()
  expect(await viewer.getByRole('button', { name: 'Send signal…' }).count()).toBe(0)

  const page = await given.open(`jobs/${id}`, { role: 'operator', viewport: { width: 1440, height: 900 } })
  const rows = page.getByRole('region', { name: 'Steps of this job' }).locator('tbody tr')
  await rows.nth(2).waitFor()
  expect(await rows.allTextContents()).toEqual([
    expect.stringMatching(/^profilestepdone1[\d.]+m?s\{"token":"\[redacted\]","segments":\["a","b"\]\}$/),
    expect.stringMatching(/^draftstepfailed1[\d.]+m?sTypeError: the model is busy$/),
    expect.stringMatching(/^signal:approvedsignalopen1ends /),
  ])
  await page.getByText(/^signal "approved", until \d{4}-/).waitFor()
  await takePictures(page, 'steps')
  await page.setViewportSize({ width: 1440, height: 900 })

  await page.getByRole('button', { name: 'Send signal…' }).click()
  const dialog = page.getByRole('dialog')
  await expect.poll(() => dialog.getByLabel('Signal', { exact: true }).inputValue()).toBe('approved')
  await dialog.getByLabel('Payload').fill('{"by": ')
  await dialog.getByText('This is not valid JSON.').waitFor()
  await dialog.getByLabel('Payload').fill('{"by": "ana"}')
  await dialog.getByLabel('Reason, for the audit').fill("they're sure")
  await dialog.getByRole('button', { name: 'Send the signal' }).click()
  await page.getByText(/^signal "published"$/).waitFor({ timeout: 20_000 })
  const { entries } = await given.stint.audit.list({ target: id })
  expect(entries).toMatchObject([{ action: 'job.signal', actor: 'otto', reason: "they're sure" }])

  // The line of the dialog does the same.
  await page.getByRole('button', { name: 'Send signal…' }).click()
  await expect.poll(() => dialog.getByLabel('Signal', { exact: true }).inputValue()).toBe('published')
  const line = (await dialog.locator('.cli code').textContent()) ?? ''
  expect(await typed(line, given.db.url)).toMatchObject({ code: 0 })
  expect(await given.stint.result(id)).toMatchObject({ payload: { by: 'ana' }, by: 'otto' })
  await settled(page)
})
