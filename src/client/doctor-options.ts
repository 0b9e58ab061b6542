import { oneOfOption, invalidOption, rejectUnknown } from '../core/options.ts'
import { checkNames } from '../doctor/checks.ts'
import type { CheckName } from '../doctor/checks.ts'

export interface DoctorOptions {
  /** Only these checks. @default all of them */
  only?: readonly CheckName[] | undefined
}

/** The checks to run, in the order of the list of all checks. */
export function resolveDoctorOptions({ only = checkNames, ...rest }: DoctorOptions = {}): CheckName[] {
  rejectUnknown('doctor', rest, ['only'])
  const given: unknown = only
  if (!Array.isArray(given)) throw invalidOption('only', 'a list of checks', given)
  const wanted = new Set(given.map((name) => oneOfOption('only', name, checkNames)))
  return checkNames.filter((name) => wanted.has(name))
}
