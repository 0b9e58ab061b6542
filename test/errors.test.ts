import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorCodes } from '../src/core/errors.ts'

test('every error code has its heading in docs/reference/errors.md, and no heading is left over', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/reference/errors.md'), 'utf8')
  const headings = [...page.matchAll(/^## `?([a-z-]+)`?$/gm)].map(([, code]) => code)
  expect(headings.sort()).toEqual([...errorCodes].sort())
})
