import type { Fire, ScheduleDetail, ScheduleItem, ScheduleList } from '../../../src/server/api/schedule.ts'
import { at, get, send } from './client.ts'
import type { LiveQuery } from './use-live.ts'

export type { Fire, ScheduleDetail, ScheduleItem, ScheduleList }

export function schedulesQuery(cursor: string | undefined): LiveQuery<ScheduleList> {
  return {
    queryKey: ['schedules', cursor ?? ''],
    queryFn: ({ signal }) => get('schedules', { cursor }, signal),
    topic: 'overview',
    anywayEveryMs: 10_000,
    keep: true,
  }
}

export function scheduleQuery(name: string): LiveQuery<ScheduleDetail> {
  return {
    queryKey: ['schedule', name],
    queryFn: ({ signal }) => get(at('schedules', name), {}, signal),
  }
}

export interface RunAnswer {
  jobId: string
  action: 'fired' | 'asked'
  isOrphan: boolean
}

export function runSchedule(name: string, reason: string | undefined): Promise<RunAnswer> {
  return send('POST', at('schedules', name, 'run'), { reason })
}

export function pauseSchedule(name: string, body: object): Promise<unknown> {
  return send('POST', at('schedules', name, 'pause'), body)
}

export function resumeSchedule(name: string): Promise<unknown> {
  return send('POST', at('schedules', name, 'resume'))
}

export interface BackfillAnswer {
  items: { fireAt: string; action: 'fired' | 'asked' | 'kept' }[]
  isOrphan: boolean
}

export function backfillSchedule(name: string, body: object): Promise<BackfillAnswer> {
  return send('POST', at('schedules', name, 'backfill'), body)
}
