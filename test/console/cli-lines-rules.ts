import { expect } from 'vitest'
import type { givenIn } from './cli-lines-given.ts'
import type { CommandLines } from './cli-lines-scene.ts'
import type { Scene } from '../support/workers.ts'

export interface Line {
  /** Makes what the line acts on. */
  given?: () => Promise<Given> | Given
  /** What the line has to print. */
  says?: string
  /** What the line has to change, and into which value. */
  to?: unknown
  becomes?: (given: Given, said: string) => Promise<unknown>
}

export type Given = Record<string, string>

/** The lines of breakers, flows, limits and rates. */
export function linesOfRules(
  scene: Scene,
  { breaker, flow, parked, limit, rate, stateOf }: ReturnType<typeof givenIn> & Pick<CommandLines, 'stateOf'>,
): Record<string, Line> {
  return {
    'GET /v1/breakers': { given: async () => ({ name: await breaker() }), says: '{name}' },
    'GET /v1/breakers/{name}': { given: async () => ({ name: await breaker() }), says: '{name}' },
    'POST /v1/breakers/{name}/probe': {
      given: async () => ({ name: await breaker() }),
      becomes: async ({ name = '' }) => ((await scene.stint.breakers.get(name))?.probeAt ?? 0) <= new Date(),
      to: true,
    },
    'POST /v1/breakers/{name}/open': {
      given: async () => ({ name: await breaker(), for: '10m' }),
      becomes: async ({ name = '' }) =>
        (await scene.stint.breakers.get(name))?.forced?.by?.startsWith('cli:'),
      to: true,
    },
    'POST /v1/breakers/{name}/close': {
      given: async () => ({ name: await breaker(), for: '10m' }),
      becomes: async ({ name = '' }) => (await scene.stint.breakers.get(name))?.state,
      to: 'closed',
    },
    'POST /v1/breakers/{name}/reset': {
      given: async () => ({ name: await breaker() }),
      becomes: async ({ name = '' }) => (await scene.stint.breakers.get(name))?.state,
      to: 'closed',
    },
    'GET /v1/flows': { given: async () => ({ id: await flow() }), says: '{id}' },
    'GET /v1/flows/{id}': { given: async () => ({ id: await flow() }), says: 'second' },
    'GET /v1/flows/{id}/graph': { given: async () => ({ id: await flow() }), says: '✖ second' },
    'POST /v1/flows/{id}/cancel': {
      given: async () => ({ id: await flow() }),
      becomes: async ({ id = '' }) => (await scene.stint.flows.get(id))?.state,
      to: 'cancelled',
    },
    'POST /v1/flows/{id}/replay': {
      given: async () => ({ id: await flow() }),
      becomes: async ({ id }) =>
        await scene.db.query('select state::text from stint.job where flow_id = $1 and node = 1', [id]),
      to: [{ state: 'ready' }],
    },
    'POST /v1/flows/{id}/rerun': {
      given: async () => ({ id: await flow(), from: 'second' }),
      becomes: async ({ id }) =>
        await scene.db.query('select name from stint.flow where rerun_of = $1', [id]),
      to: [{ name: expect.any(String) as string }],
    },
    'POST /v1/jobs/{id}/resume': {
      given: async () => ({ id: await parked() }),
      becomes: ({ id }) => stateOf(id),
      to: 'ready',
    },
    'GET /v1/limits': { given: async () => ({ name: await limit() }), says: '{name}' },
    'GET /v1/limits/{name}': { given: async () => ({ name: await limit() }), says: '{name}' },
    'PUT /v1/limits/{name}': {
      given: async () => ({ name: await limit(), max: '7', for: '1h' }),
      becomes: async ({ name = '' }) => (await scene.stint.limits.get(name))?.max,
      to: 7,
    },
    'DELETE /v1/limits/{name}': {
      given: async () => ({ name: await limit({ isOverridden: true }) }),
      becomes: async ({ name = '' }) => (await scene.stint.limits.get(name))?.override,
      to: null,
    },
    'POST /v1/limits/{name}/delete': {
      given: async () => ({ name: await limit() }),
      becomes: ({ name = '' }) => scene.stint.limits.get(name),
      to: undefined,
    },
    'GET /v1/limits/{name}/keys': {
      given: async () => ({ name: await limit({ key: 'acme' }) }),
      says: 'acme',
    },
    'PUT /v1/limits/{name}/keys/{key}': {
      given: async () => ({ name: await limit(), key: 'acme', max: '3' }),
      becomes: async ({ name = '' }) => (await scene.stint.limits.keys(name)).map(({ max }) => max),
      to: [3],
    },
    'DELETE /v1/limits/{name}/keys/{key}': {
      given: async () => ({ name: await limit({ key: 'acme' }), key: 'acme' }),
      becomes: ({ name = '' }) => scene.stint.limits.keys(name),
      to: [],
    },
    'POST /v1/limits/{name}/penalise': {
      given: async () => ({ name: await rate(), for: '1h' }),
      says: 'penalised',
    },
  }
}
