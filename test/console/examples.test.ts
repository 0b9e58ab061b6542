import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { nodeListener } from '../../src/server.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { finish } from '../support/processes.ts'
import { openConsole, openStint, tokens } from './scene.ts'

const examples = join(import.meta.dirname, '../../examples/http')

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

function has(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write(`left out: ${program} is not on this machine\n`)
    return false
  }
}

/** A console on a port, and the environment that a producer needs to reach it. */
async function reachable(): Promise<NodeJS.ProcessEnv> {
  const server = createServer(nodeListener(openConsole(db.url))).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { ...process.env, STINT_URL: `http://127.0.0.1:${port}`, STINT_TOKEN: tokens.operator.token }
}

const producers = [
  { name: 'curl', program: 'curl', command: 'sh', file: 'producer.sh' },
  { name: "Python's standard library", program: 'python3', command: 'python3', file: 'producer.py' },
]

for (const { name, program, command, file } of producers) {
  test.skipIf(!has(program))(
    `the producer in ${name} stores a job once, and reports what is wrong`,
    async () => {
      const env = await reachable()
      const run = (...args: string[]) => finish(command, [join(examples, file), ...args], { env })
      const key = `${program}-1`
      const first = await run('ana@example.com', key)
      expect(first).toMatchObject({ code: 0, stderr: '' })
      const [address = ''] = first.stdout.split('\n')
      const id = address.split('/').at(-1) ?? ''
      expect(await openStint(db.url).get(id)).toMatchObject({
        kind: 'mail.send',
        queue: 'mail',
        input: { to: 'ana@example.com' },
      })
      // The same request again is the same job.
      expect((await run('ana@example.com', key)).stdout.split('\n')[0]).toBe(address)
      const refused = await run('no "body\\', `${program}-2`)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toContain('/input/to')
    },
  )
}

test.skipIf(!has('curl'))('the producer in curl prints the state of its job', async () => {
  const env = await reachable()
  const { stdout } = await finish('sh', [join(examples, 'producer.sh'), 'bo@example.com'], { env })
  const [address = '', job = ''] = stdout.split('\n')
  expect(JSON.parse(job)).toMatchObject({
    id: address.split('/').at(-1),
    state: 'ready',
    links: { self: address },
  })
})
