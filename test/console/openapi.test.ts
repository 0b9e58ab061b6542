import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { finish } from '../support/processes.ts'
import { consoleOpenApi } from '../../src/server/console.ts'
import { call, openConsole, tokens } from './scene.ts'

const root = join(import.meta.dirname, '../..')

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

test('the committed OpenAPI document matches the routes (npm run openapi)', () => {
  const committed: unknown = JSON.parse(readFileSync(join(root, 'docs/reference/openapi.json'), 'utf8'))
  expect(committed).toEqual(JSON.parse(JSON.stringify(consoleOpenApi())))
})

test('a console serves the OpenAPI document for where it is mounted', async () => {
  const served = openConsole(db.url, { basePath: '/ops' })
  const { body } = await call(served, 'GET /ops/v1/openapi.json', { token: tokens.viewer.token })
  expect(body).toEqual(JSON.parse(JSON.stringify(consoleOpenApi({ basePath: '/ops' }))))
  expect(body).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/ops' }] })
})

test('stint openapi prints the OpenAPI document', async () => {
  const { stdout, code } = await finish(process.execPath, [join(root, 'dist/cli/main.js'), 'openapi'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(consoleOpenApi())))
})

test('every reference in the OpenAPI document exists', () => {
  const text = JSON.stringify(consoleOpenApi())
  const { components } = JSON.parse(text) as { components: { schemas: Record<string, unknown> } }
  for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    expect(Object.keys(components.schemas)).toContain(name)
})

interface Schema {
  $ref?: string
  properties?: Record<string, unknown>
  required?: string[]
  allOf?: Schema[]
}
interface Description {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, Answer> }> }>>
  components: { schemas: Record<string, Schema> }
}
interface Answer {
  schema: Schema
}

/** Answers without an `asOf`, and why. */
const ageless = new Map([
  ['get /v1/health/live', 'says only yes or no, and needs no sign-in'],
  ['get /v1/health/ready', 'says only yes or no, and needs no sign-in'],
  ['get /v1/openapi.json', 'is the same as long as the process lives'],
])

test('every JSON answer has the time that it is of', () => {
  const { paths, components } = JSON.parse(JSON.stringify(consoleOpenApi())) as Description
  const hasAge = ({ $ref, properties, required, allOf = [] }: Schema): boolean => {
    const named = components.schemas[$ref?.split('/').at(-1) ?? '']
    const isOwn = properties?.['asOf'] !== undefined && required?.includes('asOf') === true
    return isOwn || [...allOf, ...(named === undefined ? [] : [named])].some(hasAge)
  }
  const answers = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        const answer = content?.['application/json']
        return status.startsWith('2') && answer !== undefined
          ? [{ name: `${method} ${path}`, schema: answer.schema }]
          : []
      }),
    ),
  )
  expect(answers.length).toBeGreaterThan(50)
  const without = answers.filter(({ schema }) => !hasAge(schema)).map(({ name }) => name)
  expect(without.sort()).toEqual([...ageless.keys()].sort())
})
