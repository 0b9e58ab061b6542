import { toJSONSchema } from 'zod/v4/core'
import type { $ZodType } from 'zod/v4/core'
import { peek } from '../../core/failures/thrown.ts'

/**
 * The JSON Schema of a job's input as a producer sends it. The schema's own library converts it by the Standard JSON
 * Schema interface (zod from 4.2, ArkType); for an older zod 4, our zod does. Null if neither can.
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
