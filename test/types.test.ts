import { join } from 'node:path'
import { expect, test } from 'vitest'
import { finish } from './support/processes.ts'
import { repository } from './support/worker-process.ts'

/** The `*.test-d.ts` files: a wrong type does not compile. */
test('the type tests compile', async () => {
  const compiler = join(repository, 'node_modules/typescript/bin/tsc')
  const compiling = finish(process.execPath, [compiler, '-p', 'tsconfig.type-tests.json'], {
    cwd: repository,
  })
  expect(await compiling).toMatchObject({ code: 0, stdout: '' })
})
