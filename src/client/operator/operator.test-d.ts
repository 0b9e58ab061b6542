import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../contracts/define-job.ts'
import type { Duration } from '../../core/duration.ts'
import type { Job, JobState } from '../../core/job.ts'
import type { ErrorGroup } from '../../stats/errors/error-groups.ts'
import type { ScheduleDetails } from '../../schedules/read.ts'
import { Stint } from '../stint.ts'

const operator = new Stint().as({ actor: 'ana' })
const expected = { state: 'dead', epoch: 7 } as const
const resize = defineJob({ kind: 'image.resize', input: z.object({ width: z.number() }) })

test('a verb on a job takes its own options, a reason and the state that was seen', () => {
  type Options = NonNullable<Parameters<typeof operator.replay>[1]>
  expectTypeOf<Options['delay']>().toEqualTypeOf<Duration | undefined>()
  expectTypeOf<Options['reason']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<NonNullable<Options['expect']>['state']>().toEqualTypeOf<JobState>()
  expectTypeOf(
    operator.replay('id', { reason: 'fixed', expect: expected, delay: '5s' }),
  ).resolves.toEqualTypeOf<Job>()
  expectTypeOf(operator.discard('id')).resolves.toEqualTypeOf<Job>()
  expectTypeOf(operator.discard('id', { reason: 'old', expect: expected })).resolves.toEqualTypeOf<Job>()
  // @ts-expect-error -- discard has no delay
  void operator.discard('id', { delay: '5s' })
  // @ts-expect-error -- a reason is a text
  void operator.runNow('id', { reason: 5 })
})

test('an option that a verb needs is not optional', () => {
  void operator.reprioritize('id', { priority: 5, reason: 'urgent' })
  void operator.reschedule('id', { delay: '1h', expect: expected })
  // @ts-expect-error -- no priority
  void operator.reprioritize('id', { reason: 'urgent' })
  // @ts-expect-error -- no options
  void operator.reprioritize('id')
  // @ts-expect-error -- neither a time nor a delay
  void operator.reschedule('id', { reason: 'later' })
})

test('the contract of an edit says which input it takes', () => {
  void operator.editAndReplay('id', {
    contract: resize,
    input: { width: 400 },
    reason: 'typo',
    expect: expected,
  })
  // @ts-expect-error -- a width is a number
  void operator.editAndReplay('id', { contract: resize, input: { width: 'wide' }, reason: 'typo' })
})

test('schedules, errors and queues take a reason, and no state of a job', () => {
  const { schedules, errors } = operator
  expectTypeOf(
    schedules.set(
      { name: 'nightly', job: resize, input: { width: 400 }, cron: '0 2 * * *' },
      { reason: 'new' },
    ),
  ).resolves.toEqualTypeOf<ScheduleDetails>()
  // @ts-expect-error -- a width is a number
  void schedules.set({ name: 'nightly', job: resize, input: { width: 'wide' }, cron: '0 2 * * *' })
  expectTypeOf(
    schedules.pause('nightly', { for: '1h', reason: 'deploy' }),
  ).resolves.toEqualTypeOf<ScheduleDetails>()
  expectTypeOf(schedules.delete('nightly')).resolves.toBeVoid()
  // @ts-expect-error -- only a job is compared with the state that was seen
  void schedules.pause('nightly', { expect: expected })
  expectTypeOf(
    errors.resolve('b02c', { version: '1.2.0', reason: 'fixed' }),
  ).resolves.toEqualTypeOf<ErrorGroup>()
  void operator.setQueue('billing', { keep: '2d', reason: 'disk' })
})
