import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Assets } from '../../src/server/assets.ts'

const script = 'export const hello = 1\n'.repeat(50)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stint-assets-'))
  await mkdir(join(folder, 'assets'))
  await writeFile(
    join(folder, 'index.html'),
    '<!doctype html><html><head><base href="/"><title>x</title></head><body></body></html>',
  )
  await writeFile(join(folder, 'assets/index-a1b2.js'), script)
  await writeFile(join(folder, 'assets/index-a1b2.js.br'), brotliCompressSync(script))
  await writeFile(join(folder, 'assets/index-a1b2.js.gz'), gzipSync(script))
  await writeFile(join(folder, 'favicon.svg'), '<svg/>')
  await writeFile(join(folder, 'secret.key'), 'x')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function ask(assets: Assets, path: string, headers: Record<string, string> = {}): Response | undefined {
  return assets.answer(path, new Request(`http://console.test${path}`, { headers }))
}

test('the files of the build are served in the smallest encoding the browser accepts, and cached for ever if their name has a hash', async () => {
  const assets = new Assets({ basePath: '/ops', folder })
  const packed = ask(assets, '/assets/index-a1b2.js', { 'Accept-Encoding': 'gzip, deflate, br' })
  expect(packed?.headers.get('Content-Encoding')).toBe('br')
  expect(packed?.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable')
  expect(packed?.headers.get('Content-Type')).toBe('text/javascript; charset=utf-8')
  expect(
    brotliDecompressSync(new Uint8Array((await packed?.arrayBuffer()) ?? new ArrayBuffer(0))).toString(),
  ).toBe(script)
  expect(
    ask(assets, '/assets/index-a1b2.js', { 'Accept-Encoding': 'gzip' })?.headers.get('Content-Encoding'),
  ).toBe('gzip')
  const plain = ask(assets, '/assets/index-a1b2.js')
  expect(plain?.headers.get('Content-Encoding')).toBeNull()
  expect(await plain?.text()).toBe(script)
  expect(ask(assets, '/favicon.svg')?.headers.get('Cache-Control')).toBe('no-cache')
})

test('every path that a browser opens is served the page, which knows where it is mounted', async () => {
  const assets = new Assets({ basePath: '/ops', folder })
  for (const path of ['/', '/jobs/x', '/index.html', '/queues/a%2Fb']) {
    const page = ask(assets, path, { Accept: 'text/html,*/*' })
    expect(await page?.text()).toContain('<head><base href="/ops/"><title>')
    expect(page?.headers.get('Cache-Control')).toBe('no-cache')
  }
})

test('only files of the build are served', () => {
  const assets = new Assets({ basePath: '', folder })
  for (const path of [
    '/secret.key',
    '/assets/missing.js',
    '/../package.json',
    '/assets/..%2findex.html',
    '/assets',
  ])
    expect(ask(assets, path), path).toBeUndefined()
})

test('the page says so when the dashboard was not built', async () => {
  const assets = new Assets({ basePath: '', folder: join(folder, 'nothing') })
  const page = ask(assets, '/', { Accept: 'text/html' })
  expect(page?.status).toBe(503)
  expect(await page?.text()).toContain('the dashboard was not built')
})
