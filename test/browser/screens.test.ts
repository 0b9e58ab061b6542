import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { form } from '../support/form.ts'
import { park, plantFlow } from '../support/planted-flow.ts'
import { giveLimits } from './limits-given.ts'
import { beginLife } from './life.ts'
import type { Life } from './life.ts'
import { contracts, sendMail } from './shop.ts'
import { settled, stage } from './stage.ts'

const given = stage({ contracts, environment: 'production' })
const shots = join(import.meta.dirname, '../../.artifacts/screenshots')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let life: Life
let operation = ''
/** A paused operation, which can be resumed or aborted. */
let paused = ''
let ignored = ''
/** A job of a queue that no worker serves. */
let waitingJob = ''
/** A flow with a dead job, and a job that is parked. */
let flow = ''
let parkedJob = ''
/** A worker that a person paused. */
let orderedWorker = ''

beforeAll(async () => {
  await mkdir(shots, { recursive: true })
  life = await beginLife({ db: given.db, stint: given.stint, connection: given.db.url })
  await giveLimits(given.db)
  // A name without a place to break, and figures as wide as possible.
  const { id: waiting } = await given.stint.enqueue(
    sendMail,
    { to: 'ana@example.com', template: 'welcome' },
    { queue: `tenants_${'x'.repeat(100)}` },
  )
  waitingJob = waiting
  const ana = given.stint.as({ actor: 'ana', role: 'operator', origin: 'cli' })
  await ana.pauseQueue('exports', { for: '2h', reason: 'the warehouse is moved, see ticket OPS-4711' })
  await ana.pauseQueue('exports', { key: `tenant-${'x'.repeat(60)}`, reason: 'y'.repeat(200) })
  await ana.setConcurrency('mail', { concurrency: 2, for: '2h', reason: 'the mail server is slow' })
  await ana.drainQueue('exports', { reason: 'moving to another cluster' })
  const planted = (await given.stint.workers.list()).find(({ host }) => host === 'gpu-1')
  orderedWorker = planted?.id ?? ''
  await ana.workers.pause(orderedWorker, { reason: 'looking at its memory' })
  const started = await ana.operations.start({
    action: 'discard',
    where: 'state:dead kind:image.resize',
    reason: 'one pixel is no image',
  })
  operation = started.id
  const slow = { action: 'reprioritize', where: 'kind:report.render', priority: 5, pace: 0.1 } as const
  const { id } = await ana.operations.start({ ...slow, reason: 'the month ends' })
  await ana.operations.pause(id, { reason: 'look at the first ones' })
  paused = id
  const [group] = await given.db.query<{ fingerprint: string }>(
    `select fingerprint from stint.error_group where kind = 'image.resize'`,
  )
  ignored = group?.fingerprint ?? ''
  await given.stint.errors.ignore(ignored)
  const of = { queue: 'archive', kind: 'archive.store' }
  const { id: held } = await plantFlow(given.db, {
    ...of,
    name: `checkout-${'x'.repeat(60)}`,
    nodes: [
      { name: 'reserve', jobs: ['succeeded'] },
      { name: `capture-${'y'.repeat(60)}`, jobs: ['dead', 'succeeded'], after: [0] },
      { name: 'receipts', jobs: Array.from({ length: 60 }, () => 'waiting' as const), after: [1] },
      { name: 'ship', jobs: ['waiting'], after: [0, 1, 2] },
    ],
  })
  flow = held
  const { id: changed } = await given.stint.enqueue(
    sendMail,
    { to: 'bo@example.com', template: 'welcome' },
    { queue: 'archive' },
  )
  await park(given.db, changed)
  parkedJob = changed
}, 400_000)
afterAll(() => life.stop())

/** Every screen and dialog, by name. */
function screens(): Readonly<Record<string, string>> {
  return {
    overview: '',
    queues: 'queues',
    queue: 'queues/billing',
    'queue-paused': 'queues/exports',
    'queue-pause': 'queues/billing?panel=pause',
    jobs: 'jobs',
    'jobs-dead': 'jobs?where=state:dead',
    'jobs-selected': `jobs?where=state:dead&sel=${life.deadJob}`,
    'job-dead': `jobs/${life.deadJob}`,
    'job-running': `jobs/${life.heldJob}?tab=logs`,
    'job-waiting': `jobs/${waitingJob}`,
    'job-attempts': `jobs/${life.deadJob}?tab=attempts`,
    'job-edit': `jobs/${life.deadJob}?panel=edit-and-replay`,
    dead: 'dead',
    'dead-group': `dead?group=${life.group}`,
    'dead-replay': `dead?group=${life.group}&panel=op-replay`,
    'dead-resolve': `dead?group=${life.group}&panel=resolve`,
    'dead-ignored': `dead?status=ignored&group=${ignored}`,
    operations: 'operations',
    operation: `operations/${operation}`,
    'operation-paused': `operations/${paused}`,
    'operation-abort': `operations/${paused}?panel=abort`,
    schedules: 'schedules',
    'schedule-open': 'schedules?schedule=nightly-report',
    'schedule-paused': 'schedules?schedule=weekly-digest',
    'schedule-backfill': 'schedules?schedule=nightly-report&panel=backfill',
    'queue-drain': 'queues/billing?panel=drain',
    'queue-concurrency': 'queues/billing?panel=concurrency',
    'queue-rules': 'queues/mail',
    workers: 'workers',
    'worker-drain': `workers?worker=${orderedWorker}&panel=drain`,
    flows: 'flows',
    flow: `flows/${flow}`,
    'flow-list': `flows/${flow}?tab=list`,
    'flow-waterfall': `flows/${flow}?tab=waterfall`,
    'flow-replay': `flows/${flow}?panel=replay`,
    'job-parked': `jobs/${parkedJob}`,
    limits: 'limits',
    'limit-open': 'limits?limit=video/tenant',
    'limit-override': 'limits?limit=video/tenant&panel=override',
    'limit-key': 'limits?limit=video/tenant&panel=key',
    'breaker-open': 'limits?breaker=smtp',
    'breaker-force': 'limits?breaker=smtp&panel=open',
    audit: 'audit',
    system: 'system',
  }
}

interface Violation {
  id: string
  help: string
  nodes: { html: string; failureSummary: string }[]
}

/** All rules in the light theme; only colours differ in the dark one. */
const rules = {
  light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  dark: ['color-contrast'],
}

async function violations(page: Page, theme: 'light' | 'dark'): Promise<string[]> {
  const found = await page.evaluate<Violation[]>(
    `axe.run(document, { runOnly: ${JSON.stringify(rules[theme])} }).then((result) => result.violations)`,
  )
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`),
  )
}

/** What is too wide, and what is too small to click; evaluated inside the page. */
const smallOrWide = `({
  overflow: document.documentElement.scrollWidth - innerWidth,
  small: [...document.querySelectorAll('button, main a, nav a, summary, input')]
    .filter((target) => target.checkVisibility())
    // A checkbox has its label around it; links inside sentences may be smaller.
    .filter((target) => !target.matches('p a, li a, dd a, .clip a'))
    .map((target) => ({ target, box: (target.closest('label') ?? target).getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < 23.5)
    .map(({ target, box }) => target.outerHTML.slice(0, 120) + ' ' + box.width + 'x' + box.height),
})`

/** Pictures for people to look at, which the short form leaves out. */
async function keepPicture(page: Page, name: string): Promise<void> {
  if (form !== 'short') await page.screenshot({ path: join(shots, `${name}.png`) })
}

/** Figures that do not fit, and rows of figures that leave a gap; evaluated inside the page. */
const spoiltFigures = `[...document.querySelectorAll('.figures')].flatMap((box) => {
  const figures = [...box.children].map((figure) => ({ figure, at: figure.getBoundingClientRect() }))
  const edge = box.getBoundingClientRect().right
  return figures
    .filter(({ figure, at }) => {
      const end = Math.max(...figures.filter((one) => one.at.top === at.top).map((one) => one.at.right))
      return figure.scrollWidth > figure.clientWidth || edge - end > 4
    })
    .map(({ figure }) => figure.textContent)
})`

// One visit for all checks: loading a screen takes longer than checking it.
test('axe finds no violation on any screen, light or dark, and at 320 pixels everything fits', async () => {
  const page = await given.open('')
  const wide = page.viewportSize() ?? { width: 1360, height: 860 }
  for (const [name, path] of Object.entries(screens())) {
    await page.setViewportSize(wide)
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(`${given.url}${path}`)
    await settled(page)
    if (path.includes('panel=')) await page.getByRole('dialog').waitFor()
    if (name === 'overview' || name === 'queue') await page.locator('.plot canvas').nth(2).waitFor()
    await page.evaluate(axe)
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      expect(await violations(page, theme), `${name} in ${theme}`).toEqual([])
      await keepPicture(page, `${name}-${theme}`)
    }
    for (const width of [1024, 390]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await page.evaluate<string[]>(spoiltFigures), `${name} at ${width}`).toEqual([])
    }
    await page.setViewportSize({ width: 320, height: 800 })
    await expect
      .poll(() => page.evaluate<object>(smallOrWide), { message: name })
      .toEqual({ overflow: 0, small: [] })
    await keepPicture(page, `${name}-320`)
  }
}, 400_000)
