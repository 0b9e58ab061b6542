import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { repository } from '../../support/worker-process.ts'
import { mutated } from './build.ts'
import { mutants } from './mutants.ts'

const { config } = ts.readConfigFile(join(repository, 'tsconfig.build.json'), (file) =>
  readFileSync(file, 'utf8'),
) as {
  config: object
}
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository)

/** The source compiled as `npm run deep` does it. */
function compiled(file: string): string {
  const source = readFileSync(join(repository, 'src', file.replace(/\.js$/, '.ts')), 'utf8')
  return ts.transpileModule(source, {
    compilerOptions: {
      ...options,
      module: ts.ModuleKind.ESNext,
      emitDeclarationOnly: false,
      declaration: false,
    },
  }).outputText
}

test.each(mutants)('mutant $id still applies to $file', (mutant) => {
  const original = compiled(mutant.file)
  expect(mutated(original, mutant)).not.toBe(original)
})
