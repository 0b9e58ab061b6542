import { StintError } from '../core/errors.ts'
import { show } from '../core/options.ts'
import type { JobContract } from './contract.ts'

/** Checks the properties and not a brand: the contract may come from another copy of the package. */
export function checkContract(contract: unknown): asserts contract is JobContract {
  const { kind, queue, timeoutMs, upcast } = (contract ?? {}) as Partial<JobContract>
  const hasNames = typeof kind === 'string' && typeof queue === 'string'
  if (hasNames && typeof timeoutMs === 'number' && typeof upcast === 'object') return
  throw new StintError(
    'invalid-option',
    `Expected the contract of a job, as defineJob() returns it, got ${show(contract)}. ${adviceOn(contract)}`,
    { issues: [{ path: 'contract', message: 'is not what defineJob() returns' }] },
  )
}

function adviceOn(contract: unknown): string {
  if (contract === undefined)
    return 'Is it exported by the file that you import it from, and do the two files not import each other?'
  const kind = typeof contract === 'string' ? contract : 'mail.send'
  return `Define it once, const job = defineJob({ kind: ${show(kind)} }), and pass that.`
}
