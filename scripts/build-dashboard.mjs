// Builds the dashboard into dist/dashboard, unless its inputs have not changed since the last build.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { stampOf } from './stamp.mjs'

const root = join(import.meta.dirname, '..')
const dashboard = join(root, 'dashboard')
const built = join(root, 'dist/dashboard')
const stampFile = join(built, '.stamp')

// The sources, and the versions of the packages that build them.
const stamp = stampOf([
  'dashboard/src',
  'dashboard/index.html',
  'dashboard/vite.config.ts',
  'package-lock.json',
  'scripts/build-dashboard.mjs',
])
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  await build({ configFile: join(dashboard, 'vite.config.ts'), logLevel: 'warn' })
  compress()
  writeFileSync(stampFile, stamp)
}

/** Compresses each file once at the highest level, so that the server does not have to. */
function compress() {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
  for (const name of readdirSync(join(built, 'assets'))) {
    const file = join(built, 'assets', name)
    const content = readFileSync(file)
    writeFileSync(`${file}.br`, brotliCompressSync(content, quality))
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  }
}
