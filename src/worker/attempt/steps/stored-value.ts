import { StintError } from '../../../core/errors.ts'
import type { StoredError } from '../../../core/failures/stored-error.ts'
import { copyJson } from '../../../core/json/json.ts'
import { byteLength } from '../../../core/json/utf8.ts'

export type { Stored } from '../../../core/json/stored.ts'

export const maxStepBytes = 256 * 1024

/** The JSON text of a step's result; undefined if it returned nothing. Throws a typed error if it cannot be stored. */
export function stepText(value: unknown, name: string, maxBytes: number): string | undefined {
  if (value === undefined) return undefined
  const copy = copyJson(value, 'result', { maxDepth: 100, maxCharacters: maxBytes * 2, maxIssues: 5 })
  if (!copy.ok) {
    if (copy.characters !== undefined)
      throw tooLarge(name, `more than ${copy.characters} characters`, maxBytes)
    const [first] = copy.issues
    throw new StintError(
      'invalid-step-result',
      `The step '${name}' returned what JSON cannot hold: ${first?.path ?? 'result'} ${first?.message ?? 'cannot be read'}.`,
      { issues: copy.issues },
    )
  }
  const text = JSON.stringify(copy.value)
  const bytes = byteLength(text)
  if (bytes > maxBytes) throw tooLarge(name, `${bytes.toLocaleString('en')} bytes`, maxBytes)
  return text
}

function tooLarge(name: string, size: string, maxBytes: number): StintError {
  return new StintError(
    'step-too-large',
    `The step '${name}' returned ${size}; ${maxBytes.toLocaleString('en')} bytes is the most. Store it elsewhere and return a reference.`,
  )
}

/** The error of a recorded failure, as the handler saw it the first time. */
export function storedFailure({ name, message, code, stack }: StoredError): Error {
  const error = new Error(message)
  error.name = name
  if (stack !== undefined) error.stack = stack
  return code === undefined ? error : Object.assign(error, { code })
}
