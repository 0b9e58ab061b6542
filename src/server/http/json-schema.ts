import { toJSONSchema } from 'zod/v4/core'
import type { $ZodType } from 'zod/v4/core'
import { peek } from '../../core/failures/thrown.ts'

/**
 * The JSON Schema of what a producer sends, where the schema's library can say: by the Standard JSON Schema interface
 * (zod from 4.2, ArkType), or, for an older zod 4, by ours. Null where it cannot, or where the schema has no such form.
 */
export function jsonSchemaOf(schema: unknown): unknown {
  if (schema === undefined) return null
  try {
    const standard = peek(schema, '~standard')
    const convert = peek(peek(standard, 'jsonSchema'), 'input')
    if (typeof convert === 'function')
      return (convert as (options: { target: string }) => unknown)({ target: 'draft-2020-12' })
    if (peek(schema, '_zod') !== undefined) return toJSONSchema(schema as $ZodType, { io: 'input' })
    return null
  } catch {
    return null
  }
}
