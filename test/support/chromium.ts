import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

let shared: Promise<Browser> | undefined

/** The browser of this process. Test files share it, because a start takes seconds. It ends with the process. */
export async function sharedChromium(): Promise<Browser> {
  shared ??= launchChromium()
  if (!(await shared).isConnected()) shared = launchChromium()
  return shared
}

/**
 * A Chromium that comes from npm, so that the browser tests need nothing but `npm ci`. It is unpacked once into the
 * temporary folder: first under another name, then renamed, because two test files may start at the same time.
 */
export async function launchChromium(): Promise<Browser> {
  const dir = await unpacked()
  const launch = (env: Record<string, string>): Promise<Browser> =>
    chromium.launch({
      executablePath: join(dir, 'chromium'),
      timeout: 120_000,
      // Containers run as root and have no user namespaces for a sandbox. The browser opens only our own pages.
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'],
      env: {
        ...ownEnvironment(),
        FONTCONFIG_FILE: join(dir, 'stint-fonts.conf'),
        LANG: 'en_US.UTF-8',
        ...env,
      },
    })
  try {
    return await launch({})
  } catch (error) {
    // A minimal machine lacks NSS, so use the one in the package. Otherwise the NSS of the system fits better.
    if (!String(error).includes('shared libraries')) throw error
    return launch({ LD_LIBRARY_PATH: join(dir, 'al2023/lib') })
  }
}

async function unpacked(): Promise<string> {
  const require = createRequire(import.meta.url)
  const folder = dirname(dirname(dirname(require.resolve('@sparticuz/chromium'))))
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
  const dir = join(tmpdir(), `stint-chromium-${version}`)
  if (existsSync(join(dir, 'chromium'))) return dir
  const own = await mkdtemp(`${dir}-`)
  // The package unpacks to TMPDIR, and unpacks the libraries that Amazon Linux lacks only if it believes to run there.
  const before = { TMPDIR: process.env['TMPDIR'], AWS_EXECUTION_ENV: process.env['AWS_EXECUTION_ENV'] }
  process.env['TMPDIR'] = own
  process.env['AWS_EXECUTION_ENV'] = 'AWS_Lambda_nodejs22.x'
  try {
    const { default: packed } = await import('@sparticuz/chromium')
    await packed.executablePath()
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    }
  }
  await writeFonts(own, dir)
  await rename(own, dir).catch(async (error: unknown) => {
    if (!existsSync(join(dir, 'chromium'))) throw error
    await rm(own, { recursive: true })
  })
  return dir
}

/** Open Sans from the package, so that pages look the same on every machine. */
async function writeFonts(own: string, dir: string): Promise<void> {
  const prefer = (generic: string, family: string): string =>
    `<alias binding="same"><family>${generic}</family><prefer><family>${family}</family></prefer></alias>`
  await mkdir(join(own, 'fonts-cache'), { recursive: true })
  await writeFile(
    join(own, 'stint-fonts.conf'),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>${dir}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${dir}/fonts-cache</cachedir>
${prefer('system-ui', 'Open Sans')}${prefer('sans-serif', 'Open Sans')}${prefer('monospace', 'DejaVu Sans Mono')}
</fontconfig>`,
  )
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
