import { beforeAll, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { startWorker } from '../support/workers.ts'
import { eventually } from '../support/eventually.ts'
import { givenWorker } from '../console/numbers-given.ts'
import { settled, stage } from './stage.ts'

const given = stage()
const anything = defineJob({ kind: 'hostile', queue: 'hostile', retry: { attempts: 1 } })

/** Each text would set `hacked` if any part of the page treated it as more than text. */
const corpus = [
  '<img src=x onerror="window.hacked=1">',
  '"><script>window.hacked=1</script>',
  "' onmouseover='window.hacked=1' x='",
  '</pre></title></textarea><svg onload=window.hacked=1>',
  'javascript:window.hacked=1//',
  '{{constructor.constructor("window.hacked=1")()}}${window.hacked=1}',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  '<a href="javascript:window.hacked=1" autofocus onfocus=window.hacked=1>x</a>',
  '\u202Egpj.exe <style>*{display:none}</style>',
] as const
const all = corpus.join(' ')
let ids: readonly string[] = []

class Hostile extends Error {
  override readonly name = corpus[0]
}

beforeAll(async () => {
  const stored = await Promise.all(
    corpus.map((text) =>
      given.stint.enqueue(anything, { [text]: text }, { key: text, correlationId: text, search: { text } }),
    ),
  )
  ids = stored.map(({ id }) => id)
  const ready = await given.stint.enqueue(anything, all, {
    queue: 'a%3Cb%3E/x:y',
    key: corpus[0],
    delay: '1h',
  })
  await given.stint.cancel(ready.id, { reason: all.slice(0, 400) })
  const host = corpus[3]
  await givenWorker(given.db, { host, version: corpus[0], queues: { hostile: 3 }, kinds: [...corpus] })
})

test('no text that a job carries is executed: input, error, log, progress, key, queue, worker, host', async () => {
  const worker = await startWorker(given, { queues: { hostile: 2 }, version: corpus[1] }, (one) =>
    one.handle(anything, async (_input, ctx) => {
      for (const text of corpus) ctx.log.error(text, { [text]: text })
      await ctx.progress(50, all.slice(0, 200))
      throw new Hostile(all, { cause: new Error(corpus[1]) })
    }),
  )
  await worker.tells('dead', () => true, corpus.length)
  await eventually(async () => {
    if ((await given.db.query('select from stint.error_group')).length === 0) throw new Error('not yet')
  })
  const [first = '', second = ''] = ids
  const [died] = await given.db.query<{ fingerprint: string }>(
    'select fingerprint from stint.dead where id = $1',
    [first],
  )
  const group = died?.fingerprint ?? ''
  expect(group).not.toBe('')
  const page = await given.open('')
  const screens = [
    ...[
      '',
      'queues',
      'queues/hostile',
      `queues/${encodeURIComponent('a%3Cb%3E/x:y')}`,
      'jobs',
      'jobs?where=state:cancelled',
    ],
    ...[
      `jobs?where=${encodeURIComponent('key:"<img src=x onerror=window.hacked=1>"')}`,
      'dead',
      `dead?group=${group}`,
    ],
    ...['input', 'attempts', 'logs', 'lineage', 'cli'].map((tab) => `jobs/${first}?tab=${tab}`),
    ...[`jobs/${second}?panel=edit-and-replay`, `jobs?where=state:dead&sel=${first}&panel=op-replay`],
    ...[
      'workers',
      'operations',
      'schedules',
      'audit?actor=%3Cscript%3Ewindow.hacked=1%3C/script%3E',
      'system',
    ],
  ]
  for (const screen of screens) {
    await page.goto(`${given.url}${screen}`)
    await settled(page)
    const found = await page.evaluate<object>(`({
      hacked: 'hacked' in window,
      scripts: document.querySelectorAll('script').length,
      foreign: document.querySelectorAll('main img, main iframe, main style, [onerror], [onload], [onfocus]').length,
      links: [...document.querySelectorAll('a')].filter((link) => link.protocol === 'javascript:').length,
    })`)
    expect(found, screen).toEqual({ hacked: false, scripts: 1, foreign: 0, links: 0 })
  }
  // The texts are readable, as they were written.
  await page.goto(`${given.url}jobs/${first}?tab=logs`)
  await page.locator('.log-message', { hasText: corpus[1] }).first().waitFor()
  await page.goto(`${given.url}workers`)
  await page.getByText(corpus[3]).first().waitFor()
  await page.goto(`${given.url}jobs/${first}`)
  expect(await page.locator('pre[aria-label=Input]').textContent()).toContain(JSON.stringify(corpus[0]))
}, 180_000)
