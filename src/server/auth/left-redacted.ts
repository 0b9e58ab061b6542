import { HttpProblem } from '../http/problem.ts'

/** Refuses an input of somebody for whom the host's own `redact` changes it. */
export function masked(hint: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'redacted',
    title: 'A part of the input is hidden from you',
    detail:
      'The host of this console hides a part of this input by a mask, which would be stored as if it were data.',
    hint,
    errors: [{ pointer: '/input', message: 'is not shown to you as it is' }],
  })
}

/** Refuses an input with a mask of ours that cannot be put back. */
export function leftRedacted(pointer: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'redacted',
    title: 'A redacted value has no original',
    detail: 'The input contains [redacted] where the stored input has no value. Nothing was changed.',
    hint: 'Replace [redacted] with a value.',
    errors: [{ pointer, message: 'says [redacted], and there is no stored value to put back' }],
  })
}
