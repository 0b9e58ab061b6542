import type { StepCall } from '../../../flows/steps/parked-job.ts'
import type { Ending } from '../outcome.ts'

/** How long a parked job waits before a worker tries again: rolling deployments heal by themselves. */
const parkMs = [60_000, 300_000, 900_000, 3_600_000]

/** The ending of an attempt whose handler asks for other steps than those that are recorded. `before`: how often it was parked. */
export function parkedEnding(
  asked: StepCall,
  { reason, before, recorded }: { reason: string; before: number; recorded: StepCall | undefined },
): Ending {
  return {
    type: 'waiting',
    waits: {
      parked: {
        ...{ reason, tries: before + 1, asked: nameOf(asked) },
        recorded: recorded === undefined ? undefined : nameOf(recorded),
      },
    },
    untilMs: parkMs[Math.min(before, parkMs.length - 1)] ?? 0,
    untilAt: undefined,
    reason: `step-changed: ${reason}`,
  }
}

function nameOf({ name, n, type }: StepCall): StepCall {
  return { name, n, type }
}
