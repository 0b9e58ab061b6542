import type { Build } from '../harness/scene.ts'
import { breakersDecidedOnce } from './breakers.ts'
import {
  commitCutEnqueue,
  commitCutSettle,
  partitionLateBytes,
  settleBacklog,
  txAtMostOnce,
} from './commit.ts'
import { hostileOutputs, settleBadRow } from './content.ts'
import { crashBystander, crashLimit, releaseNoBurn } from './crashes.ts'
import { batchCrossLease, zombieHeartbeat, zombieSettle, zombieSideWrites } from './fencing.ts'
import { firesManySchedulers } from './fires.ts'
import { flowEndings, flowTwoLast } from './flows.ts'
import { abortFirst, blockedKeepsLease, txIdleBound } from './leases.ts'
import { limitsBothSorts, limitsCountOnce, limitsExact, orderFirstLive, ratesExact } from './limits.ts'
import { signalAwaited, signalBesideSuspend, stepsReplayed, zombieSteps } from './steps.ts'
import { claimLostReply, outageNoBlame, sweepLive, sweepOrphanClaim, sweepRace } from './recovery.ts'

/**
 * Guarantees with a name: each is a small test on real processes that can judge any build of the package. They pass for
 * this build (named.test.ts), and the test of a mutant must fail for the mutated build (mutants/).
 */
export const named = {
  'zombie.settle': zombieSettle,
  'zombie.side-writes': zombieSideWrites,
  'zombie.steps': zombieSteps,
  'zombie.heartbeat': zombieHeartbeat,
  'batch.cross-lease': batchCrossLease,
  'sweep.live': sweepLive,
  'sweep.race': sweepRace,
  'sweep.orphan-claim': sweepOrphanClaim,
  'outage.no-blame': outageNoBlame,
  'claim.lost-reply': claimLostReply,
  'tx.at-most-once': txAtMostOnce,
  'commit.cut-settle': commitCutSettle,
  'commit.cut-enqueue': commitCutEnqueue,
  'partition.late-bytes': partitionLateBytes,
  'settle.backlog': settleBacklog,
  'hostile.outputs': hostileOutputs,
  'settle.bad-row': settleBadRow,
  'fires.many-schedulers': firesManySchedulers,
  'crash.bystander': crashBystander,
  'crash.limit': crashLimit,
  'release.no-burn': releaseNoBurn,
  'abort.first': abortFirst,
  'tx.idle-bound': txIdleBound,
  'blocked.keeps-lease': blockedKeepsLease,
  'limits.exact': limitsExact,
  'limits.count-once': limitsCountOnce,
  'limits.both-sorts': limitsBothSorts,
  'order.first-live': orderFirstLive,
  'rates.exact': ratesExact,
  'flow.two-last': flowTwoLast,
  'flow.endings': flowEndings,
  'signal.beside-suspend': signalBesideSuspend,
  'signal.awaited': signalAwaited,
  'steps.replayed': stepsReplayed,
  'breakers.decided-once': breakersDecidedOnce,
} satisfies Record<string, (build: Build) => Promise<void>>

export type GuaranteeName = keyof typeof named
