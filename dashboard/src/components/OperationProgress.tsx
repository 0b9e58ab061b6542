import { diedAgain } from '../../../src/core/operation.ts'
import type { Operation } from '../api/operations.ts'
import { percent, whole } from '../text/format.ts'

/** The progress of an operation: acted, skipped, and failed or dead again, as shares of the matched jobs. */
export function OperationProgress({ operation }: { operation: Operation }) {
  const of = operation.matched ?? operation.max
  const done = operation.acted + operation.skipped + operation.failed
  const bad = diedAgain(operation.fates)
  const share = (count: number): number => (of === 0 ? 0 : (count / of) * 100)
  return (
    <div className="operation-progress">
      <svg
        className="meter"
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${whole(done)} of ${whole(of)}`}
      >
        <rect className="meter-floor" width="100" height="6" rx="1" />
        <rect className="meter-value" width={share(operation.acted - bad)} height="6" />
        <rect
          className="meter-skipped"
          x={share(operation.acted - bad)}
          width={share(operation.skipped)}
          height="6"
        />
        <rect
          className="meter-failed"
          x={share(operation.acted - bad + operation.skipped)}
          width={share(operation.failed + bad)}
          height="6"
        />
      </svg>
      <span className="num">
        {whole(done)}/{operation.matched === null ? `≤ ${whole(of)}` : whole(of)}
        <span className="muted"> {of === 0 ? '' : percent(done / of)}</span>
      </span>
    </div>
  )
}
