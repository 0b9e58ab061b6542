import { toStorable, toStorableText } from '../../core/json/storable.ts'
import type { Storable } from '../../core/json/storable.ts'
import { isError, peek } from '../../core/failures/thrown.ts'

/**
 * Text to be stored. Callers without types may pass any value: an Error becomes its message, other values become JSON.
 */
export function textOf(said: unknown, maxBytes: number): Storable {
  const text = isError(said) ? peek(said, 'message') : said
  return typeof text === 'string' ? toStorableText(text, maxBytes) : toStorable(text, { maxBytes })
}
