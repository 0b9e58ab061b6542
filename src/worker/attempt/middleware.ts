import { StintError } from '../../core/errors.ts'
import type { Middleware } from '../handlers.ts'
import type { HandlerContext } from './handler-context.ts'

/** Calls the handler inside of all middleware. Without any it adds no promise. */
export function around(middleware: readonly Middleware[], ctx: HandlerContext, run: () => unknown): unknown {
  if (middleware.length === 0) return run()
  const step = async (index: number): Promise<unknown> => {
    const layer = middleware[index]
    if (layer === undefined) return await run()
    let isCalled = false
    return layer(ctx, () => {
      // The handler may have stored its completion by now, or may still run.
      if (isCalled) return Promise.reject(calledTwice(ctx))
      isCalled = true
      return step(index + 1)
    })
  }
  return step(0)
}

function calledTwice({ jobId, kind }: HandlerContext): StintError {
  return new StintError(
    'next-called-twice',
    `A middleware called next() twice for job ${jobId} of '${kind}': an attempt runs its handler once. Throw, and the job is tried again by its rules.`,
    { jobIds: [jobId] },
  )
}
