import { HttpProblem } from '../http/problem.ts'

/** Refuses an edited input if the host's `redact` hides a part of the stored one from the caller: its mask would become data. */
export function maskedByHost(hint: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'redacted',
    title: 'A part of the input is hidden from you',
    detail:
      'The host of this console shows you a mask instead of a part of this input. Stint would store the mask as data.',
    hint,
    errors: [{ pointer: '/input', message: 'is partly hidden from you' }],
  })
}

/** Refuses an input that contains `[redacted]` at a place where the stored input has no value to restore. */
export function maskWithoutOriginal(pointer: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'redacted',
    title: 'A redacted value has no original',
    detail: 'The input contains [redacted] where the stored input has no value. Nothing was changed.',
    hint: 'Replace [redacted] with a value.',
    errors: [{ pointer, message: 'is [redacted], and there is no stored value to restore' }],
  })
}
