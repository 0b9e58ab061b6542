import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isStorableText } from '../src/core/json/json.ts'
import type { Json } from '../src/core/json/json.ts'
import { jsonbText } from '../src/core/json/jsonb-text.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const text = fc.string({ unit: 'binary', maxLength: 8 }).filter(isStorableText)
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom<Json>(
      null,
      true,
      0,
      -0,
      1e21,
      -1.5e-7,
      5e-324,
      123456789012345680000,
      1.7976931348623157e308,
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value

test('the text of 20,000 random values is what PostgreSQL prints of them as jsonb', async () => {
  const values = fc.sample(json, { numRuns: 20_000, seed: 7 })
  const rows = await db.query<{ printed: string }>(
    'select value::text as printed from jsonb_array_elements($1::text::jsonb) with ordinality as e (value, place) order by place',
    [JSON.stringify(values)],
  )
  expect(values.map(jsonbText)).toEqual(rows.map(({ printed }) => printed))
})
