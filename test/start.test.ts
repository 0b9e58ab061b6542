import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drawScreen, summaryLine } from '../examples/start/screen.ts'
import type { Status } from '../src/index.ts'
import { eventually } from './support/eventually.ts'
import { start } from './support/processes.ts'

const root = join(import.meta.dirname, '..')

test('the example counts active workers: not killed ones, nor the console’s own', () => {
  const asOf = new Date('2026-03-01T00:00:00Z')
  const worker = (pid: number, leaseMs: number, queues = { mail: 5 } as Record<string, number>) => ({
    id: String(pid),
    host: 'h',
    pid,
    version: null,
    stintVersion: null,
    queues,
    kinds: [],
    startedAt: asOf,
    leaseUntil: new Date(asOf.getTime() + leaseMs),
  })
  const status = {
    asOf,
    schemaVersion: 1,
    pendingMigrations: [],
    queues: [],
    workers: [
      worker(1, 4_000),
      worker(2, 4_000),
      // One was killed a moment ago, and one has missed its heartbeats.
      worker(3, 4_000),
      worker(4, -1),
      worker(5, 4_000, { stint: 1 }),
    ],
  } as unknown as Status
  const ended = new Set([3])
  expect(summaryLine(status, ended)).toBe('2 workers')
  const screen = drawScreen(status, { jobs: [], dashboard: undefined, news: [], ended })
  expect(screen).toContain('a producer and 2 workers at work')
  expect(screen).toContain('worker h/3  ended, lease 4.0s')
  expect(screen).toContain('worker h/4  lease over')
})

test('npm start runs jobs that one can see, and Ctrl-C stops everything', async () => {
  // A copy, so that a developer's own server and data are not touched.
  const project = await mkdtemp(join(tmpdir(), 'stint-start-'))
  await chmod(project, 0o755)
  await mkdir(join(project, 'examples'))
  await cp(join(root, 'examples/start'), join(project, 'examples/start'), { recursive: true })
  await cp(join(root, 'package.json'), join(project, 'package.json'))
  await writeFile(join(project, 'tsconfig.json'), '{}')
  await symlink(join(root, 'dist'), join(project, 'dist'))
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'))
  try {
    const example = start(process.execPath, ['--import', 'tsx', 'examples/start/main.ts'], {
      cwd: project,
      env: { ...process.env, DATABASE_URL: '', STINT_EXAMPLE_PORT: '0' },
    })
    await example.says('schema at version')
    await example.says('2 workers')
    await example.says('running')
    await example.says('The dashboard is at')
    const link = /The dashboard is at (\S+)/.exec(example.said())?.[1] ?? ''
    // The link signs in a browser once, and the browser gets the dashboard.
    const signedIn = await fetch(link, { redirect: 'manual' })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const home = await fetch(new URL('/', link), { headers: { cookie, accept: 'text/html' } })
    expect(await home.text()).toContain('<div id="app">')
    const queues = await fetch(new URL('/v1/queues', link), { headers: { cookie } })
    expect(await queues.json()).toMatchObject({ items: expect.any(Array) as unknown })
    // A worker stores the schedules when it starts; the console may be faster.
    await eventually(async () => {
      const schedules = await fetch(new URL('/v1/schedules', link), { headers: { cookie } })
      const { items } = (await schedules.json()) as { items: { name: string }[] }
      expect(items.map(({ name }) => name).sort()).toEqual(['close-books', 'remind-carts'])
    })
    // The console's own worker, which executes operations, is not part of the example.
    expect(example.said()).not.toContain('3 workers')
    example.child.kill('SIGINT')
    expect(await example.finished).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Stopped.') as string,
      stderr: '',
    })
  } finally {
    await rm(project, { recursive: true, force: true })
  }
})
