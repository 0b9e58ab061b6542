import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { finish } from './support/processes.ts'
import type { Finished } from './support/processes.ts'

const root = join(import.meta.dirname, '..')

interface Packed {
  filename: string
  files: { path: string }[]
}

let packed: Packed
let consumer: string

/** The packed tarball, unpacked into a project of its own; its dependencies are found in ours, one folder further up. */
beforeAll(async () => {
  await mkdir(join(root, '.stint'), { recursive: true })
  consumer = await mkdtemp(join(root, '.stint/pack-'))
  const { stdout } = await finish('npm', ['pack', '--json', '--pack-destination', consumer], { cwd: root })
  ;[packed] = JSON.parse(stdout) as [Packed]
  await mkdir(join(consumer, 'node_modules/stint'), { recursive: true })
  await finish('tar', ['-xzf', packed.filename, '-C', 'node_modules/stint', '--strip-components=1'], {
    cwd: consumer,
  })
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module' }))
})
afterAll(() => rm(consumer, { recursive: true, force: true }))

const { exports: subpaths } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string>
}
const specifiers = Object.keys(subpaths)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace(/^\./, 'stint'))

async function inConsumer(file: string, text: string): Promise<Finished> {
  await writeFile(join(consumer, file), text)
  return finish(process.execPath, [file], { cwd: consumer })
}

test('the package holds the build, its pages and nothing else', () => {
  const paths = packed.files.map(({ path }) => path)
  expect(
    paths.filter(
      (path) =>
        !/^(dist\/.*\.(js|d\.ts)|dist\/dashboard\/.*\.(html|js|css|svg)(\.(br|gz))?|docs\/.*\.(md|png|svg|json)|package\.json|LICENSE|[A-Z]+\.md)$/.test(
          path,
        ),
    ),
  ).toEqual([])
  expect(paths.filter((path) => /\.test\.|\.sql$|test\//.test(path))).toEqual([])
  expect(paths).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'SECURITY.md',
      'dist/cli/main.js',
      'dist/dashboard/index.html',
      'dist/embedded/keeper.js',
      'dist/worker/lease/lease-thread.js',
      'dist/worker/isolate/child-program.js',
    ]),
  )
})

test('every link and picture of the README is in the package', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const targets = [...readme.matchAll(/\]\(([^)#]+)|(?:src|srcset)="([^"]+)"/g)].map(
    ([, link, picture]) => link ?? picture ?? '',
  )
  const paths = packed.files.map(({ path }) => path)
  const isIn = (target: string): boolean =>
    paths.some((path) => path === target || path.startsWith(`${target}/`))
  expect(targets.length).toBeGreaterThan(20)
  expect(targets.filter((target) => !isIn(target))).toEqual([])
})

// Node 20.19 introduced require() of an ES module, with a warning.
test.each([
  ['imported', 'all.mjs', 'await import(specifier)'],
  ['required', 'all.cjs', 'require(specifier)'],
])('every subpath of the package can be %s', async (_how, file, load) => {
  const program = `(async () => {
    for (const specifier of ${JSON.stringify(specifiers)}) {
      try {
        console.log(specifier, Object.keys(${load}).length > 0)
      } catch (error) {
        console.log(specifier, error)
      }
    }
  })()`
  const { stdout } = await inConsumer(file, program)
  expect(stdout).toBe(specifiers.map((specifier) => `${specifier} true\n`).join(''))
})

test('the types of every subpath are found', async () => {
  const lines = specifiers.map(
    (specifier, index) => `import * as m${index} from '${specifier}'\nvoid m${index}`,
  )
  await writeFile(join(consumer, 'types.ts'), lines.join('\n'))
  const compiler = {
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: 'es2023',
  }
  await writeFile(
    join(consumer, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: compiler, files: ['types.ts'] }),
  )
  const { stdout } = await finish(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], {
    cwd: consumer,
  })
  // Errors in the declarations of other packages do not count.
  expect(
    stdout.split('\n').filter((line) => line.startsWith('types.ts') || line.startsWith('node_modules/stint')),
  ).toEqual([])
})

test('every export has its own name in logs and stack traces', async () => {
  for (const specifier of specifiers)
    for (const [name, value] of Object.entries((await import(specifier)) as Record<string, unknown>))
      if (typeof value === 'function') expect(value.name, specifier).toBe(name)
})

test('the public names equal the committed list', async () => {
  const names: Record<string, string[]> = {}
  for (const specifier of specifiers)
    names[specifier] = Object.keys((await import(specifier)) as object).sort()
  expect(names).toMatchInlineSnapshot(`
    {
      "stint": [
        "Stint",
        "StintError",
        "anyOf",
        "defineBreaker",
        "defineJob",
        "defineLimit",
        "defineQueue",
        "defineRate",
        "defineSchedule",
        "defineSignal",
        "fileBlobStore",
        "flow",
        "isStintError",
        "typed",
        "verifyWebhook",
        "webhookJob",
      ],
      "stint/contracts": [
        "CancelJob",
        "PermanentError",
        "RetryAfter",
        "Snooze",
        "StintError",
        "anyOf",
        "defineBreaker",
        "defineJob",
        "defineLimit",
        "defineQueue",
        "defineRate",
        "defineSignal",
        "flow",
        "isStintError",
        "readInput",
        "typed",
        "webhookJob",
      ],
      "stint/drizzle": [
        "drizzle",
      ],
      "stint/embedded": [
        "startEmbedded",
      ],
      "stint/knex": [
        "knex",
      ],
      "stint/kysely": [
        "kysely",
      ],
      "stint/mikro-orm": [
        "mikroOrm",
      ],
      "stint/postgres-js": [
        "postgresJs",
      ],
      "stint/prisma": [
        "prisma",
      ],
      "stint/server": [
        "createConsole",
        "nodeListener",
        "startOperationsWorker",
      ],
      "stint/testing": [
        "testStint",
      ],
      "stint/typeorm": [
        "typeorm",
      ],
      "stint/worker": [
        "CancelJob",
        "PermanentError",
        "RetryAfter",
        "Snooze",
        "Worker",
        "currentJob",
        "defineSchedule",
      ],
    }
  `)
})

test('contracts load where neither the driver nor any other dependency is installed', async () => {
  const alone = await mkdtemp(join(tmpdir(), 'stint-alone-'))
  await cp(join(consumer, 'node_modules'), join(alone, 'node_modules'), { recursive: true })
  const load = (specifier: string): Promise<Finished> =>
    finish(process.execPath, ['--input-type=module', '-e', `await import('${specifier}')`], { cwd: alone })
  expect(await load('stint/contracts')).toMatchObject({ code: 0 })
  // The proof that it would fail: the client needs its driver and more.
  expect(await load('stint')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Cannot find package '(?:pg|croner)'/) as string,
  })
  await rm(alone, { recursive: true })
})
