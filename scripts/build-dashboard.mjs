// Builds the dashboard into dist/dashboard, unless what it is made of has not changed since it was built.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')
const dashboard = join(root, 'dashboard')
const built = join(root, 'dist/dashboard')
const stampFile = join(built, '.stamp')

const stamp = stampOfSources()
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  await build({ configFile: join(dashboard, 'vite.config.ts'), logLevel: 'warn' })
  compress()
  writeFileSync(stampFile, stamp)
}

/** Of all that goes in: the sources, and the versions of what they are built with. */
function stampOfSources() {
  const hash = createHash('sha256')
  const names = readdirSync(join(dashboard, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const files = [...names.sort(), join(dashboard, 'index.html'), join(dashboard, 'vite.config.ts')]
  for (const file of [...files, join(root, 'package-lock.json'), import.meta.filename]) {
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

/** Beside each file, once and well: the server does not have to. */
function compress() {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
  for (const name of readdirSync(join(built, 'assets'))) {
    const file = join(built, 'assets', name)
    const content = readFileSync(file)
    writeFileSync(`${file}.br`, brotliCompressSync(content, quality))
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  }
}
