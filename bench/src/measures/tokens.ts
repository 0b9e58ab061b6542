import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Rate, Session } from '../systems/system.ts'
import type { Measure, Order, Sample } from './order.ts'

const program = fileURLToPath(new URL('../take.ts', import.meta.url))

/** What a process that takes tokens is told, and answers. */
export interface TakeOrder {
  system: string
  url: string
  name: string
  callers: number
  durationMs: number
}
export interface Takings {
  /** Before the first call. */
  startedAt: number
  endedAt: number
  /** When each token was granted. */
  grantedAt: number[]
}

/** One bucket, and processes that take of it as fast as they get tokens. */
export async function measureTokens(
  session: Session,
  { rate, processes, callers, durationMs }: Extract<Measure, { type: 'tokens' }>,
  { system, url }: Order,
): Promise<Sample> {
  await session.storeRate?.(rate)
  const children = Array.from({ length: processes }, () =>
    fork(program, { stdio: ['ignore', 2, 2, 'ipc'], serialization: 'advanced' }),
  )
  try {
    const order: TakeOrder = { system, url, name: rate.name, callers, durationMs }
    await Promise.all(
      children.map((child) => {
        child.send(order)
        return once(child, 'message')
      }),
    )
    const takings = await Promise.all(
      children.map(async (child) => {
        child.send('start')
        const [answer] = (await once(child, 'message')) as [Takings | { error: string }]
        if ('error' in answer) throw new Error(answer.error)
        return answer
      }),
    )
    return sampleOf(takings, rate)
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

function sampleOf(takings: readonly Takings[], { perSecond, burst }: Rate): Sample {
  const startedAt = Math.min(...takings.map((one) => one.startedAt))
  const allowed = (at: number): number => burst + (perSecond * (at - startedAt)) / 1000
  // All processes were at it until the first of them ended.
  const endedAt = Math.min(...takings.map((one) => one.endedAt))
  const granted = takings
    .flatMap(({ grantedAt }) => grantedAt)
    .sort((a, b) => a - b)
    .filter((at) => at <= endedAt)
  const tooEarly = granted.findIndex((at, before) => before + 1 > allowed(at))
  if (tooEarly >= 0) throw new Error(`token ${tooEarly + 1} was granted before the bucket had it`)
  const seconds = (endedAt - startedAt) / 1000
  return {
    figure: granted.length / seconds,
    count: granted.length,
    seconds,
    stored: 0,
    quotaShare: granted.length / allowed(endedAt),
  }
}
