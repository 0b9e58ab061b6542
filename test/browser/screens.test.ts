import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { beginLife } from './life.ts'
import type { Life } from './life.ts'
import { contracts } from './shop.ts'
import { settled, stage } from './stage.ts'

const given = stage({ contracts, environment: 'production' })
const shots = join(import.meta.dirname, '../../.artifacts/screenshots')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let life: Life
let operation = ''
/** One that rests, and so can be gone on with or given up. */
let paused = ''
let ignored = ''

beforeAll(async () => {
  await mkdir(shots, { recursive: true })
  life = await beginLife({ db: given.db, stint: given.stint, connection: given.db.url })
  const ana = given.stint.as({ actor: 'ana', role: 'operator', origin: 'cli' })
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
}, 400_000)
afterAll(() => life.stop())

/** Every screen and dialog, by name. */
function screens(): Readonly<Record<string, string>> {
  return {
    overview: '',
    queues: 'queues',
    queue: 'queues/billing',
    jobs: 'jobs',
    'jobs-dead': 'jobs?where=state:dead',
    'jobs-selected': `jobs?where=state:dead&sel=${life.deadJob}`,
    'job-dead': `jobs/${life.deadJob}`,
    'job-running': `jobs/${life.heldJob}?tab=logs`,
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
    workers: 'workers',
    audit: 'audit',
    system: 'system',
  }
}

interface Violation {
  id: string
  help: string
  nodes: { html: string; failureSummary: string }[]
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const found = await page.evaluate<Violation[]>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then((result) => result.violations)`,
  )
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`),
  )
}

describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
  test('no screen has a violation that axe can find, and all are there to be looked at', async () => {
    const page = await given.open('', { colorScheme: theme })
    for (const [name, path] of Object.entries(screens())) {
      await page.goto(`${given.url}${path}`)
      await settled(page)
      if (path.includes('panel=')) await page.getByRole('dialog').waitFor()
      if (name === 'overview' || name === 'queue') await page.locator('.plot canvas').nth(2).waitFor()
      expect(await violations(page), `${name} in ${theme}`).toEqual([])
      await page.screenshot({ path: join(shots, `${name}-${theme}.png`) })
    }
  }, 400_000)
})

/** What is too wide, and what is too small to be hit: asked inside of the page. */
const smallOrWide = `({
  overflow: document.documentElement.scrollWidth - innerWidth,
  small: [...document.querySelectorAll('button, main a, nav a, summary, input')]
    .filter((target) => target.checkVisibility())
    // A tick box has its label around it; a link inside of a sentence is excepted.
    .filter((target) => !target.matches('p a, li a, dd a, .clip a'))
    .map((target) => ({ target, box: (target.closest('label') ?? target).getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0 && Math.min(box.width, box.height) < 23.5)
    .map(({ target, box }) => target.outerHTML.slice(0, 120) + ' ' + box.width + 'x' + box.height),
})`

test('at 320 pixels nothing is wider than the screen, and what can be pointed at is large enough', async () => {
  const page = await given.open('', { viewport: { width: 320, height: 800 } })
  for (const [name, path] of Object.entries(screens())) {
    await page.goto(`${given.url}${path}`)
    await settled(page)
    const found = await page.evaluate<object>(smallOrWide)
    expect(found, name).toEqual({ overflow: 0, small: [] })
    await page.screenshot({ path: join(shots, `${name}-320.png`) })
  }
}, 400_000)
