import type { CanaryResult, Operation } from '../../core/operation.ts'

/** Judges `total` jobs by the rule, as if there were at least `atLeast` of them: a few endings say little. */
export function whyStop(
  { failed, sameError }: Pick<CanaryResult, 'failed' | 'sameError'>,
  { total, which, atLeast = 1 }: { total: number; which: string; atLeast?: number },
  { stopIf }: Pick<Operation, 'stopIf'>,
): string | undefined {
  const share = (count: number): number => (100 * count) / Math.max(atLeast, total)
  if (stopIf.sameError !== null && share(sameError) > stopIf.sameError)
    return `${sameError} of ${total} ${which} failed with the error they had died of.`
  if (stopIf.anyFailure !== null && share(failed) > stopIf.anyFailure)
    return `${failed} of ${total} ${which} failed.`
  return undefined
}

/** The note of an operation that is done; undefined if all went well. */
export function endNote({ failed, acted, fates }: Operation): string | undefined {
  const { live = 0, sameError = 0, otherError = 0 } = fates ?? {}
  const errors = [
    ...(sameError > 0 ? [`${sameError} with the error they had died of`] : []),
    ...(otherError > 0 ? [`${otherError} with another`] : []),
  ]
  const parts = [
    ...(errors.length > 0 ? [`${sameError + otherError} of ${acted} died again: ${errors.join(', ')}.`] : []),
    ...(live > 0 ? [`${live} of ${acted} had not ended when it stopped looking.`] : []),
    ...(failed > 0 ? [`${failed} could not be acted on.`] : []),
  ]
  return parts.length === 0 ? undefined : parts.join(' ')
}
