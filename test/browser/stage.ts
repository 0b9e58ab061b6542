import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { Stint } from '../../src/index.ts'
import { nodeListener } from '../../src/server.ts'
import type { Console, ConsoleOptions, Role } from '../../src/server.ts'
import { createConsoleWithin } from '../../src/server/console.ts'
import { makeToken } from '../../src/server/auth/tokens.ts'
import { patient } from '../console/scene.ts'
import { sharedChromium } from '../support/chromium.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { form } from '../support/form.ts'
import { patienceMs } from '../support/patience.ts'

const artefacts = join(import.meta.dirname, '../../.artifacts')

/** Parts that a test replaces. */
export interface StageParts {
  openDatabase?: () => Promise<TestDatabase>
  openConsole?: (options: ConsoleOptions) => Console
}

function openPatient(options: ConsoleOptions): Console {
  return createConsoleWithin(patient, options)
}

/** A real console on a real database, and a browser that people of each role sign in with. */
export interface Stage {
  readonly db: TestDatabase
  readonly stint: Stint
  /** The URL of the console, with a slash at its end. */
  readonly url: string
  /** Opens a screen in a browser context of its own, signed in. */
  open(path: string, options?: OpenOptions): Promise<Page>
  /** Cuts all connections to the console, and accepts none until `mend` is called. */
  cut(): void
  mend(): void
}

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>

export interface OpenOptions extends BrowserContextOptions {
  role?: Role | undefined
}

const tokens: Readonly<Record<Role, { token: string; line: string }>> = {
  viewer: makeToken({ name: 'vi', role: 'viewer', expiresAt: null }),
  operator: makeToken({ name: 'otto', role: 'operator', expiresAt: null }),
  admin: makeToken({ name: 'ada', role: 'admin', expiresAt: null }),
}

/**
 * Made before the first test of a file and removed after the last. Any error that a page reports fails the test.
 */
export function stage(
  options: ConsoleOptions = {},
  { openDatabase = createTestDatabase, openConsole = openPatient }: StageParts = {},
): Stage {
  const parts: { db?: TestDatabase; stint?: Stint; browser?: Browser; server?: CuttableServer } = {}
  const complaints: string[] = []
  /** The cookies of each role, after its first sign-in. */
  const sessions = new Map<Role, StorageState>()
  let closeConsole: (() => Promise<void>) | undefined

  beforeAll(async () => {
    const db = await openDatabase()
    const served = openConsole({
      connection: db.url,
      environment: 'test',
      tokens: Object.values(tokens).map(({ line }) => line),
      onError: (error) => complaints.push(`console: ${String(error)}`),
      ...options,
    })
    closeConsole = served.close
    parts.db = db
    parts.stint = new Stint({ connection: db.url })
    parts.server = await openCuttableServer(nodeListener(served))
    parts.browser = await sharedChromium()
  }, 180_000)
  afterEach(async ({ task }) => {
    for (const context of parts.browser?.contexts() ?? []) {
      if (task.result?.state === 'fail')
        for (const page of context.pages()) await keepPicture(page, task.name)
      await context.close()
    }
    expect(complaints.splice(0)).toEqual([])
  })
  afterAll(async () => {
    await parts.server?.close()
    await closeConsole?.()
    await parts.stint?.close()
    await parts.db?.drop()
  })

  return {
    get db() {
      return there(parts.db)
    },
    get stint() {
      return there(parts.stint)
    },
    get url() {
      return `http://127.0.0.1:${there(parts.server).port}${options.basePath ?? ''}/`
    },
    async open(path, { role = 'admin', ...context } = {}) {
      const session = sessions.get(role)
      const opened = await there(parts.browser).newContext({
        locale: 'en-US',
        timezoneId: 'UTC',
        viewport: { width: 1360, height: 860 },
        reducedMotion: 'reduce',
        ...(session !== undefined && { storageState: session }),
        ...context,
      })
      opened.setDefaultTimeout(patienceMs)
      const page = await opened.newPage()
      page.on('pageerror', (error) => complaints.push(`page: ${error.message}`))
      page.on('console', (message) => {
        // The test checks refused requests by their answer; the browser logs them too.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          complaints.push(`console of the page: ${message.text()}`)
        }
      })
      if (session !== undefined) await page.goto(`${this.url}${path}`)
      else {
        await page.goto(`${this.url}login?to=${encodeURIComponent(`/${path}`)}`)
        const token = page.getByLabel('Token')
        await token.fill(tokens[role].token)
        // Not by a click: where the pointer rests, new rows wait behind a pill.
        await token.press('Enter')
      }
      await shown(page)
      if (session === undefined) sessions.set(role, await opened.storageState())
      // The page knows the person's rights once it shows the person.
      await page.locator('.actor').waitFor({ state: 'attached' })
      return page
    },
    cut: () => {
      there(parts.server).cut()
    },
    mend: () => {
      there(parts.server).mend()
    },
  }
}

interface CuttableServer {
  port: number
  cut(): void
  mend(): void
  close(): Promise<void>
}

/** An HTTP server whose connections can be cut, as a proxy that restarts does. */
async function openCuttableServer(listener: ReturnType<typeof nodeListener>): Promise<CuttableServer> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server: Server = createServer(listener)
  server.on('connection', (socket) => {
    if (isCut) {
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => {
      isCut = false
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        cut()
      }),
  }
}

/** Keeps a picture of the page when a test fails. */
async function keepPicture(page: Page, name: string): Promise<void> {
  const file = `${name.replaceAll(/\W+/g, '-').slice(0, 80)}.png`
  await page.screenshot({ path: join(artefacts, 'failures', file) }).catch(() => undefined)
}

/** Keeps pictures of a screen in both themes, for people to look at. */
export async function keepScreen(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(artefacts, 'screenshots', `${name}-${colorScheme}.png`) })
  }
}

function there<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('There is no stage outside of a test')
  return part
}

export function tokenOf(role: Role): string {
  return tokens[role].token
}

/** Presses two keys that lead to a screen until they do: on a busy machine the second may come too late. */
export async function pressPair(page: Page, keys: readonly [string, string], screen: string): Promise<void> {
  await eventually(async () => {
    for (const key of keys) await page.keyboard.press(key)
    await page.waitForURL(`**/${screen}`, { timeout: 5_000 })
  })
}

/** Waits for a screen of the dashboard; `#main`, because the sign-in page has a heading too. */
export async function shown(page: Page): Promise<void> {
  await page.locator('#main h1').waitFor()
}

/** Waits until a screen has all its data. */
export async function settled(page: Page): Promise<void> {
  await shown(page)
  // Not by a function in the page: its content security policy evaluates no text.
  await eventually(async () => {
    expect(await page.locator('.loading').count()).toBe(0)
  })
  await page.waitForLoadState('load')
}

/** Pictures of a page for people to look at: wide and narrow, light and dark. Not in the short form of the tests. */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (form === 'short') return
  for (const width of [1440, 390])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      const path = join(artefacts, 'screenshots', `${name}-${width}-${colorScheme}.png`)
      await page.screenshot({ path, fullPage: true })
    }
}
