import type { TestDatabase } from './database.ts'

export interface TestClock {
  /** Moves the time of the database on: '31 seconds', '2 hours'. */
  advance(interval: string): Promise<void>
  /** Sets the clock to a time, from which it goes on. */
  moveTo(at: Date): Promise<void>
  /** Stops the clock at a time: '2026-11-05 12:00:00.123456Z'. */
  stopAt(at: string): Promise<void>
}

/** Puts a clock under stint.now() that the tests of this database can move. Everything that needs the time uses it. */
export async function movableClock(db: TestDatabase): Promise<TestClock> {
  await db.query('create table stint.test_clock (ahead interval not null)')
  await db.query(`insert into stint.test_clock values ('0')`)
  await db.query(`create or replace function stint.now() returns timestamptz language sql stable
                  as 'select statement_timestamp() + (select ahead from stint.test_clock)'`)
  return {
    advance: async (interval) => {
      await db.query('update stint.test_clock set ahead = ahead + $1::interval', [interval])
    },
    moveTo: async (at) => {
      await db.query('update stint.test_clock set ahead = $1::timestamptz - statement_timestamp()', [at])
    },
    stopAt: async (at) => {
      await db.query(`create or replace function stint.now() returns timestamptz language sql stable
                      as $$ select timestamptz '${at}' $$`)
    },
  }
}
