import type { NewRecord, StepKey, StepType } from '../../../flows/steps/steps.ts'
import type { AwaitedSignal, FlowWait } from '../../../flows/waiting/waiting.ts'
import type { Place } from './order.ts'

/** One call of a handler's context. */
export interface Call extends StepKey {
  /** Its number in the order of results, once it has one. */
  seq: number
  /** Where its result is in that order. */
  place?: Place | undefined
  readonly type: StepType
  readonly beside: boolean
  readonly beganAt: number
  /** It has failed, and this is to be stored if the handler goes on. */
  failure?: Pick<NewRecord, 'seq' | 'error'>
  stop?: Stop
  /** When it stopped. */
  stoppedAt?: number
}

/** Why a call does not return in this attempt. */
export type Stop =
  | {
      type: 'wait'
      /** Its record is not stored yet. */
      isNew: boolean
      until: { untilMs?: number | undefined; untilAt?: string | undefined }
      signal?: AwaitedSignal | undefined
      /** Sets of children, and jobs. */
      flows?: Readonly<Record<string, FlowWait>> | undefined
      jobs?: readonly string[] | undefined
      said?: Partial<Pick<NewRecord, 'result' | 'tries' | 'error'>>
    }
  | { type: 'park'; reason: string }
  | { type: 'release' }

/** One text for a call of a job. */
export function keyOf({ name, n }: StepKey): string {
  return `${n} ${name}`
}
