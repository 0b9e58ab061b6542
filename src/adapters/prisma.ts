import type { TxAdapter } from '../db/foreign-tx.ts'
import { hasMethods } from './has-methods.ts'

/** The `tx` that `prisma.$transaction()` hands to its callback. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
  /** A property that only the client itself has. */
  $connect?: never
}

/** For interactive transactions of `@prisma/client`. */
export const prisma: TxAdapter<PrismaTransaction> = (tx) => {
  if (!hasMethods(tx, '$queryRawUnsafe') || hasMethods(tx, '$connect')) {
    throw new Error('Expected the `tx` that prisma.$transaction(async (tx) => …) hands to its callback.')
  }
  return async (text, values) => {
    try {
      return (await tx.$queryRawUnsafe(text, ...values)) as unknown[]
    } catch (error) {
      throw serverErrorOf(error)
    }
  }
}

interface RawQueryFailed extends Error {
  meta?: { driverAdapterError?: { cause?: { originalCode?: string; originalMessage?: string } } }
}

/** Prisma's code is P2010 for any error in raw SQL; Stint reads the server's code. */
function serverErrorOf(error: unknown): unknown {
  const { originalCode, originalMessage } = (error as RawQueryFailed).meta?.driverAdapterError?.cause ?? {}
  if (originalCode === undefined) return error
  return Object.assign(new Error(originalMessage, { cause: error }), { code: originalCode })
}
