import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { workerScene } from '../support/workers.ts'
import { commandLinesIn } from './cli-lines-scene.ts'
import { givenWorker } from './numbers-given.ts'
import { call, openConsole, tokens } from './scene.ts'

/** Text that a shell would split or expand. */
const odd = `it's "fixed" in $HOME; see #7`

const scene = workerScene()
const { type, workOn, jobThat, stateOf } = commandLinesIn(scene)

describe('a command line of an operation', () => {
  test.each([
    ['replay', 'dead', 'succeeded', { canary: 0 }],
    ['replay', 'dead', 'succeeded', { pace: 500, max: 50 }],
    ['discard', 'dead', 'dead', {}],
    ['cancel', 'ready', 'cancelled', {}],
    ['run-now', 'scheduled', 'ready', { pace: 100 }],
    ['reprioritize', 'ready', 'ready', { priority: -7 }],
  ] as const)('that would %s what is %s does so', async (action, state, after, settings) => {
    const served = openConsole(scene.db.url)
    const token = tokens.admin.token
    const queue = `${action}.${randomUUID().slice(0, 8)}`
    const ids = [await jobThat(state, queue), await jobThat(state, queue)]
    if (action === 'replay') await workOn(queue)
    const request = { action, where: `queue:${queue} age<1d`, ...settings }
    const preview = await call(served, 'POST /v1/operations', { token, json: { ...request, dryRun: true } })
    const cli = preview.body['cli'] as string
    expect(cli).toMatch(/--reason …$/)
    await type(cli.replace('…', `'${odd.replaceAll("'", `'\\''`)}'`))
    for (const id of ids) expect(await stateOf(id)).toBe(after)
    const [started] = (await scene.stint.operations.list({ limit: 1 })).operations
    expect(started).toMatchObject({ action, acted: 2, state: 'done', reason: odd })
    // The command line that a started operation shows, with its reason.
    const shown = await call(served, `GET /v1/operations/${started?.id ?? ''}`, { token })
    const again = await jobThat(state, queue)
    await type(shown.body['cli'] as string)
    expect(await stateOf(again)).toBe(after)
    const [second] = (await scene.stint.operations.list({ limit: 1 })).operations
    expect(second).toMatchObject({ action, reason: odd })
    expect(second?.id).not.toBe(started?.id)
  })

  test('a command line of an operation executes the operation itself where the executor is gone', async () => {
    const queue = `gone.${randomUUID().slice(0, 8)}`
    const id = await jobThat('dead', queue)
    // The lost worker still counts as live for some seconds.
    await givenWorker(scene.db, { kinds: ['stint.operation'], silentFor: '24 seconds' })
    await workOn(queue)
    await type(`stint dead replay --where queue:${queue} --reason fixed`)
    expect(await stateOf(id)).toBe('succeeded')
  })

  test('a command line of an operation by ids replays these jobs', async () => {
    const ids = [await jobThat('dead'), await jobThat('dead')]
    const { body } = await call(openConsole(scene.db.url), 'POST /v1/operations', {
      token: tokens.operator.token,
      json: { action: 'replay', ids, dryRun: true },
    })
    await type(body['cli'] as string)
    for (const id of ids) expect(await stateOf(id)).toBe('ready')
  })
})
