import { PrismaPg } from '@prisma/adapter-pg'
import { prisma } from '../../src/adapters/prisma.ts'
import { PrismaClient } from './prisma-client/generated/client.ts'
import type { Prisma } from './prisma-client/generated/client.ts'
import { describeAdapter } from './scene.ts'

describeAdapter<Prisma.TransactionClient>('prisma', prisma, (url) => {
  const db = new PrismaClient({
    adapter: new PrismaPg({ connectionString: url }),
    // The defaults of 2 s to begin and 5 s to end are too short on a busy machine.
    transactionOptions: { maxWait: 30_000, timeout: 30_000 },
  })
  return Promise.resolve({
    transaction: (work) => db.$transaction(work),
    insertNote: (tx, text) => tx.note.create({ data: { text } }),
    notTransaction: db,
    close: () => db.$disconnect(),
  })
})
