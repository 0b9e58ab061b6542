// The first minutes of somebody new, with the real command, worker and database.
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Stint } from '../src/entry/index.ts'
import { keeperPid, query, untilGone } from './embedded/scene.ts'
import { finish, start } from './support/processes.ts'
import { repository } from './support/worker-process.ts'

const contracts = `import { defineJob } from 'stint/contracts'

export const greet = defineJob({ kind: 'greet' })
`

/** TypeScript that Node alone cannot run. */
const workerFile = (word: string): string => `import { Worker } from 'stint/worker'
import { greet } from './contracts.ts'

enum Word { Greeting = '${word}' }

export const worker = new Worker()
worker.handle(greet, (input, ctx) => {
  const { name } = input as { name: string }
  return { said: \`\${Word.Greeting} \${name}\`, attempt: ctx.attempt }
})
`

const enqueueFile = `import { Stint } from 'stint'
import { greet } from './contracts.ts'

const stint = new Stint()
const { id } = await stint.enqueue(greet, { name: process.argv[2] })
console.log(id)
await stint.close()
`

/** A folder with what \`npm install stint\` leaves in it. */
async function emptyProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'stint-first-'))
  onTestFinished(() => rm(project, { recursive: true, force: true }))
  // The embedded server may run as another user.
  await chmod(project, 0o755)
  await writeFile(join(project, 'package.json'), '{"type":"module"}')
  await mkdir(join(project, 'node_modules'))
  await symlink(repository, join(project, 'node_modules/stint'))
  await symlink(join(repository, 'node_modules/tsx'), join(project, 'node_modules/tsx'))
  return project
}

test('stint dev in an empty folder with one contract and one handler runs a job, and the next by the changed handler', async () => {
  const project = await emptyProject()
  const inProject = { cwd: project, env: { ...process.env, DATABASE_URL: '' } }
  /** All at once: a file that is emptied and then written are two changes where the time between them is long. */
  const write = async (file: string, text: string): Promise<void> => {
    await writeFile(join(project, `${file}.part`), text)
    await rename(join(project, `${file}.part`), join(project, file))
  }
  await write('contracts.ts', contracts)
  await write('worker.ts', workerFile('Hello'))
  await write('enqueue.ts', enqueueFile)

  const running = start(process.execPath, ['node_modules/stint/dist/cli/main.js', 'dev'], inProject)
  onTestFinished(() => void running.child.kill('SIGKILL'))
  const [url = ''] = /(?<=DATABASE_URL=)\S+/.exec(await running.says('Ctrl-C')) ?? []
  await running.says('worker ready')
  const stint = new Stint({ connection: url })
  onTestFinished(() => stint.close())

  /** What the handler returned to a job that a program of the project enqueued. */
  const greeted = async (name: string): Promise<unknown> => {
    const enqueued = await finish(process.execPath, ['--import', 'tsx', 'enqueue.ts', name], inProject)
    expect(enqueued).toMatchObject({ code: 0, stderr: '' })
    const id = enqueued.stdout.trim()
    await expect.poll(async () => (await stint.get(id))?.state).toBe('succeeded')
    return (await stint.get(id))?.result
  }
  expect(await greeted('Ana')).toEqual({ said: 'Hello Ana', attempt: 1 })

  await write('worker.ts', workerFile('Good evening'))
  await running.says('reloaded: worker.ts changed')
  expect(await greeted('Ben')).toEqual({ said: 'Good evening Ben', attempt: 1 })

  const keeper = await keeperPid(join(project, '.stint/postgres'))
  await stint.close()
  // As Ctrl-C does.
  running.child.kill('SIGINT')
  const { code, stdout, stderr } = await running.finished
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/worker stopped[^]*stopped\n$/)
  expect(stdout.match(/reloaded/g)).toHaveLength(1)
  await untilGone(keeper)
  await expect(query(url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
