import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { packageRoot } from '../node/package-root.ts'
import { escapeHtml, html, page } from './http/page.ts'

interface Asset {
  type: string
  isImmutable: boolean
  plain: Buffer
  br: Buffer | undefined
  gzip: Buffer | undefined
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * The files of the built dashboard. They are read into memory at the start (well under a megabyte), so the path of a
 * request never reaches the file system.
 */
export class Assets {
  readonly #files: ReadonlyMap<string, Asset>
  readonly #index: string | undefined
  readonly #basePath: string

  constructor({
    basePath,
    folder = join(packageRoot(), 'dist/dashboard'),
  }: {
    basePath: string
    folder?: string | undefined
  }) {
    this.#basePath = basePath
    this.#files = existsSync(folder) ? read(folder) : new Map()
    const index = this.#files.get('/index.html')?.plain.toString()
    this.#index = index === undefined ? undefined : withBase(index, basePath)
  }

  get isBuilt(): boolean {
    return this.#index !== undefined
  }

  /** The file at a path, or the page if a browser opens another path; undefined if neither applies. */
  answer(path: string, request: Request): Response | undefined {
    const file = path === '/index.html' ? undefined : this.#files.get(path)
    if (file !== undefined) return fileResponse(file, request.headers.get('Accept-Encoding') ?? '')
    if (!wantsPage(request)) return undefined
    return this.#index === undefined ? notBuilt(this.#basePath) : indexResponse(this.#index)
  }
}

/** Whether a browser opens this URL as a page, and not a script that fetches data. */
export function wantsPage(request: Request): boolean {
  return (request.headers.get('Accept') ?? '').includes('text/html')
}

function read(folder: string): Map<string, Asset> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const files = new Map<string, Asset>()
  for (const name of names) {
    const type = types[extname(name)]
    if (type === undefined) continue
    const path = name.slice(folder.length).split(sep).join('/')
    files.set(path, {
      type,
      // The build puts a hash of the content into the names of these files.
      isImmutable: path.startsWith('/assets/'),
      plain: readFileSync(name),
      br: packed(`${name}.br`),
      gzip: packed(`${name}.gz`),
    })
  }
  return files
}

function packed(name: string): Buffer | undefined {
  return existsSync(name) ? readFileSync(name) : undefined
}

function fileResponse({ type, isImmutable, plain, br, gzip }: Asset, accepted: string): Response {
  const encoding =
    br !== undefined && /\bbr\b/.test(accepted)
      ? 'br'
      : gzip !== undefined && /\bgzip\b/.test(accepted)
        ? 'gzip'
        : undefined
  const body = (encoding === 'br' ? br : encoding === 'gzip' ? gzip : plain) ?? plain
  return new Response(new Uint8Array(body), {
    headers: {
      'Content-Type': type,
      'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      Vary: 'Accept-Encoding',
      ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    },
  })
}

function indexResponse(text: string): Response {
  return new Response(text, {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache' },
  })
}

/** The page uses relative URLs, so one build works under every base path. */
function withBase(text: string, basePath: string): string {
  const base = `<base href="${escapeHtml(basePath)}/">`
  const without = text.replace(/<base\b[^>]*>/i, '')
  return without.replace(/<head\b[^>]*>/i, (head) => `${head}${base}`)
}

function notBuilt(basePath: string): Response {
  const body = html`<p>The API under <code>${basePath}/v1</code> works; the dashboard was not built.</p>
    <p>
      In a checkout of Stint run <code>npm run build</code>. The published package contains the dashboard.
    </p>`
  return page({ basePath, title: 'No dashboard here', body, status: 503 })
}
