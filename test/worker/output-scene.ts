import pg from 'pg'
import { CancelJob, PermanentError, RetryAfter, Snooze } from '../../src/worker.ts'
import type { HandlerContext } from '../../src/worker.ts'
import type { Form } from '../support/form.ts'
import type { Scene } from '../support/workers.ts'

/** Length of a text that is far beyond every limit. A parameter, because `npm run deep` finds a test by its import of form.ts. */
export function hugeLengthIn(form: Form): number {
  return form === 'short' ? 5_000_000 : 50_000_000
}

export const cycle: Record<string, unknown> = { name: 'cycle' }
cycle['self'] = cycle

export const throwing = (): never => {
  throw new Error('do not look')
}
/** A Proxy that throws at every access. */
export const unreadable = new Proxy(
  {},
  {
    get: throwing,
    ownKeys: throwing,
    getPrototypeOf: throwing,
    has: throwing,
    getOwnPropertyDescriptor: throwing,
  },
)
export const revoked = revokedProxy()

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

type Output = (value: unknown, ctx: HandlerContext) => unknown

/** Every way in which a handler can store a value. The casts allow what plain JavaScript allows. */
export function outputsOf(scene: Scene): Record<string, Output> {
  return {
    'a result': (value) => value,
    'the result of ctx.tx': (value, ctx) => ctx.tx(() => Promise.resolve(value)),
    'the result of ctx.complete': async (value, ctx) => {
      const client = new pg.Client(scene.db.url)
      await client.connect()
      try {
        await client.query('begin')
        await ctx.complete(client, { result: value })
        await client.query('commit')
      } finally {
        await client.end()
      }
    },
    'the result of ctx.once': (value, ctx) => ctx.once(ctx.jobId, () => Promise.resolve(value)),
    'a note of progress': (value, ctx) => ctx.progress(50, value as string),
    'a percentage': (value, ctx) => ctx.progress(value as number),
    'a line of log': (value, ctx) => {
      ctx.log.info(value as string)
    },
    'data of a line': (value, ctx) => {
      ctx.log.error('with data', value)
    },
    'what is thrown': (value) => {
      throw value
    },
    'its cause': (value) => {
      throw new Error('outer', { cause: value })
    },
    'its name, code and stack': (value) => {
      throw Object.assign(new Error('odd'), { name: value, code: value, stack: value })
    },
    'a permanent error': (value) => {
      throw new PermanentError(value as string, { cause: value })
    },
    'a retry that says when': (value) => {
      throw new RetryAfter('1h', value as string)
    },
    'a reason to cancel': (value) => {
      throw new CancelJob(value as string)
    },
    'a reason to snooze': (value) => {
      throw new Snooze('1h', value as string)
    },
  }
}
