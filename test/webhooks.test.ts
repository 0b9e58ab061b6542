import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Mock } from 'vitest'
import { isStintError, verifyWebhook, webhookJob } from '../src/index.ts'
import { sendWebhook } from '../src/node/webhook/send.ts'
import type { SendConfig } from '../src/node/webhook/send.ts'
import { sign } from '../src/node/webhook/signature.ts'
import type { Address, Lookup } from '../src/node/webhook/target.ts'
import { Worker } from '../src/worker.ts'
import type { WorkerOptions } from '../src/worker.ts'
import { startWorker, workerScene } from './support/workers.ts'

const secret = 'a secret of 16 bytes or more'
const other = 'another secret, the next one'

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

interface Received {
  headers: IncomingMessage['headers']
  body: string
}

/** A receiver of webhooks on this machine. */
async function startReceiver(
  answer: (response: ServerResponse, received: Received) => void = (response) => response.end(),
): Promise<{ port: number; origin: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(chunks).toString() }
      received.push(one)
      answer(response, one)
    })
  })
  onTestFinished(() => {
    server.closeAllConnections()
  })
  const port = await listening(server)
  return { port, origin: `http://127.0.0.1:${port}`, received }
}

function send(url: string, config: Partial<SendConfig> = {}): Promise<number> {
  return sendWebhook({ url, body: '{"n":1}', id: 'job-1' }, { secrets: [secret], allow: [], ...config })
}

/** Resolves a name to one address after the other; the last one stays. */
function resolver(...answers: (readonly string[])[]): Mock<Lookup> {
  let asked = 0
  return vi.fn<Lookup>(() => {
    const addresses = answers[Math.min(asked++, answers.length - 1)] ?? []
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))
  })
}

describe('a target', () => {
  test('is called with a signature, the id of the job, and the body as it is', async () => {
    const receiver = await startReceiver()
    expect(await send(`${receiver.origin}/hook?x=1`, { allow: [receiver.origin] })).toBe(200)
    const [request] = receiver.received
    expect(request?.body).toBe('{"n":1}')
    expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'idempotency-key': 'job-1' })
    const signature = String(request?.headers['stint-signature'])
    expect(verifyWebhook({ body: '{"n":1}', signature, secrets: secret })).toBe(true)
  })

  test.each([
    ...[
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://0x7f000001/',
      'https://0x7f.1/',
      'https://0177.0.0.1/',
    ],
    ...[
      'https://127.1/',
      'https://①②⑦.⓪.⓪.①/',
      'https://127.0.0.1./',
      'https://[::1]/',
      'https://[::ffff:127.0.0.1]/',
    ],
    ...['https://[::ffff:7f00:1]/', 'https://[0:0:0:0:0:ffff:127.0.0.1]/', 'https://[64:ff9b::7f00:1]/'],
    ...['https://169.254.169.254/latest/meta-data/', 'https://2852039166/', 'https://[fd00:ec2::254]/'],
    ...[
      'https://10.1.2.3/',
      'https://192.168.0.1/',
      'https://100.64.0.1/',
      'https://[fe80::1]/',
      'https://0/',
    ],
    ...['https://0.0.0.0/', 'https://[::]/', 'https://localhost/', 'https://localhost./'],
  ])('inside is refused: %s', async (url) => {
    // A number that were taken for a name would lead to a public address.
    const lookup = (name: string): Promise<Address[]> =>
      Promise.resolve([{ address: name.startsWith('localhost') ? '127.0.0.1' : '93.184.216.34', family: 4 }])
    await expect(send(url, { lookup })).rejects.toMatchObject({
      code: 'webhook-refused',
      message: expect.stringContaining('not public') as string,
    })
  })

  test.each([
    ['http://example.com/', 'does not use https'],
    ['ftp://example.com/', 'does not use https'],
    ['file:///etc/passwd', 'does not use https'],
    ['https://user:pass@example.com/', 'user name or password'],
    ['example.com', 'is not a URL'],
    ['', 'is not a URL'],
  ])('%j is refused: it %s', async (url, why) => {
    const lookup = resolver(['93.184.216.34'])
    await expect(send(url, { lookup })).rejects.toMatchObject({
      code: 'webhook-refused',
      message: expect.stringContaining(why) as string,
    })
    expect(lookup).not.toHaveBeenCalled()
  })

  test('whose name has a public and a private address is refused', async () => {
    for (const addresses of [
      ['93.184.216.34', '10.0.0.1'],
      ['10.0.0.1', '93.184.216.34'],
      ['::ffff:10.0.0.1'],
    ])
      await expect(send('https://hooks.test/', { lookup: resolver(addresses) })).rejects.toMatchObject({
        code: 'webhook-refused',
      })
  })

  test('is resolved once, and the connection goes to the address that was checked', async () => {
    const receiver = await startReceiver()
    const origin = `http://hooks.test:${receiver.port}`
    // The second answer leads to an address where nothing listens.
    const lookup = resolver(['127.0.0.1'], ['127.0.0.2'])
    expect(await send(`${origin}/`, { allow: [origin], lookup })).toBe(200)
    expect(lookup).toHaveBeenCalledTimes(1)
    expect(receiver.received[0]?.headers.host).toBe(`hooks.test:${receiver.port}`)
  })

  test('is allowed by its whole origin, and not by its host or another port', async () => {
    const receiver = await startReceiver()
    for (const allow of ['http://127.0.0.1', 'http://127.0.0.1:1', `https://127.0.0.1:${receiver.port}`])
      await expect(send(`${receiver.origin}/`, { allow: [allow] })).rejects.toMatchObject({
        code: 'webhook-refused',
      })
    expect(receiver.received).toEqual([])
  })

  test('is greeted by TLS with its name, at the address that was checked', async () => {
    const greeting = new Promise<Buffer>((resolve) => {
      const server = createTcpServer((socket) => {
        socket.on('error', () => undefined)
        socket.once('data', (hello) => {
          resolve(hello)
          socket.destroy()
        })
      })
      void listening(server).then(async (port) => {
        const origin = `https://hooks.test:${port}`
        await expect(
          send(`${origin}/`, { allow: [origin], lookup: resolver(['127.0.0.1']) }),
        ).rejects.toMatchObject({
          code: 'webhook-failed',
        })
      })
    })
    const hello = await greeting
    expect(hello[0]).toBe(0x16)
    expect(hello.includes('hooks.test')).toBe(true)
  })
})

describe('an answer', () => {
  test.each([
    [301, {}, undefined],
    [404, {}, undefined],
    [429, { 'Retry-After': '7' }, '7'],
    [500, {}, undefined],
    [503, {}, undefined],
  ])(
    '%i is a failure with the status as its cause, and no redirect is followed',
    async (status, headers, after) => {
      const elsewhere = await startReceiver()
      const receiver = await startReceiver((response) =>
        response
          .writeHead(status, { Location: `${elsewhere.origin}/`, ...headers })
          .end('the secret of the server'),
      )
      const error: unknown = await send(receiver.origin, {
        allow: [receiver.origin, elsewhere.origin],
      }).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({
        code: 'webhook-failed',
        cause: { status, headers: { 'retry-after': after } },
      })
      expect((error as Error).message).not.toContain('secret')
      expect(elsewhere.received).toEqual([])
    },
  )

  test('that does not come in time is a failure, wherever it hangs', async () => {
    const silent = await startReceiver(() => undefined)
    const config = { allow: [silent.origin, 'http://hooks.test'], timeoutMs: 100 }
    const code = 'webhook-failed'
    await expect(send(silent.origin, config)).rejects.toMatchObject({ code, cause: { name: 'TimeoutError' } })
    const lookup = (): Promise<Address[]> => new Promise(() => undefined)
    await expect(send('http://hooks.test/', { ...config, lookup })).rejects.toMatchObject({ code })
  })

  test('is judged by its status, though its body is endless or never ends', async () => {
    const flood = await startReceiver((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    })
    expect(await send(flood.origin, { allow: [flood.origin] })).toBe(200)
    const slow = await startReceiver((response) => {
      response.writeHead(202)
      response.flushHeaders()
    })
    expect(await send(slow.origin, { allow: [slow.origin], timeoutMs: 300 })).toBe(202)
  })

  test('that cannot come is a failure with the error of the network', async () => {
    const closed = createTcpServer()
    const port = await listening(closed)
    await new Promise((resolve) => closed.close(resolve))
    const origin = `http://127.0.0.1:${port}`
    await expect(send(origin, { allow: [origin] })).rejects.toMatchObject({
      code: 'webhook-failed',
      cause: { code: 'ECONNREFUSED' },
    })
    await expect(
      send('http://hooks.test/', { allow: ['http://hooks.test'], lookup: resolver([]) }),
    ).rejects.toMatchObject({
      cause: { code: 'ENOTFOUND' },
    })
  })
})

describe('a signature', () => {
  const now = Math.floor(Date.now() / 1_000)
  const body = '{"n":1}'

  test('of either of two secrets is accepted by a receiver that knows one or both', () => {
    const signature = sign(body, [secret, other], now)
    for (const secrets of [secret, other, [secret], [other, secret]])
      expect(verifyWebhook({ body: Buffer.from(body), signature, secrets })).toBe(true)
    expect(verifyWebhook({ body, signature: sign(body, [secret], now), secrets: other })).toBe(false)
  })

  test('is refused if it, the time or the body was changed, or it is too old', () => {
    const signature = sign(body, [secret], now)
    const verify = (given: string | null | undefined, text = body): boolean =>
      verifyWebhook({ body: text, signature: given, secrets: secret })
    expect(verify(signature)).toBe(true)
    const last = signature.endsWith('0') ? '1' : '0'
    for (const changed of [
      ...[undefined, null, '', 'x', 't=1', signature.replace(/^t=\d+,/, ''), signature.slice(0, -1) + last],
      ...[signature.replace(`t=${now}`, `t=${now + 1}`), signature.toUpperCase(), signature.slice(0, -2)],
      ...[sign(body, [secret], now - 400), sign(body, [secret], now + 400), signature.replace(/v1=/, 'v0=')],
    ])
      expect(verify(changed), String(changed)).toBe(false)
    expect(verify(signature, '{"n":2}')).toBe(false)
    expect(
      verifyWebhook({ body, signature: sign(body, [secret], now - 400), secrets: secret, tolerance: '1h' }),
    ).toBe(true)
  })
})

describe('jobs of kind stint.webhook', () => {
  const scene = workerScene()
  const start = (webhooks: WorkerOptions['webhooks']): ReturnType<typeof startWorker> =>
    startWorker(scene, { queues: {}, webhooks }, () => undefined)

  test('are sent by a worker that has the option, again after a failure, under the same id', async () => {
    const receiver = await startReceiver((response) => {
      response.writeHead(receiver.received.length < 2 ? 503 : 204, { 'Retry-After': '0' }).end()
    })
    await start({ secrets: [other, secret], allow: [receiver.origin] })
    const job = await scene.stint.enqueue(webhookJob, { url: receiver.origin, payload: { paid: true } })
    expect(await job.result({ timeout: '20s' })).toEqual({ status: 204 })
    expect(receiver.received.map(({ headers }) => headers['idempotency-key'])).toEqual([job.id, job.id])
    for (const { body, headers } of receiver.received)
      expect(verifyWebhook({ body, signature: String(headers['stint-signature']), secrets: secret })).toBe(
        true,
      )
    expect(receiver.received[0]?.body).toBe('{"paid":true}')
  })

  test('to a refused target are dead at once', async () => {
    await start({ secrets: secret })
    const job = await scene.stint.enqueue(webhookJob, {
      url: 'https://169.254.169.254/latest/meta-data/?token=hidden',
      payload: null,
    })
    const error: unknown = await job.result({ timeout: '20s' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'job-dead',
      cause: {
        class: 'permanent',
        code: 'webhook-refused',
        message: expect.not.stringContaining('hidden') as string,
      },
    })
    expect(await scene.stint.get(job.id)).toMatchObject({ attempt: 1 })
  })

  test.each([
    [{ url: 'x', payload: 1 }, 'input.url'],
    [{ url: 'ftp://example.com/', payload: 1 }, 'input.url'],
    [{ url: `https://example.com/${'x'.repeat(2_048)}`, payload: 1 }, 'input.url'],
    [{ url: 'https://example.com/' }, 'input.payload'],
    [{ url: 'https://example.com/', payload: 'x'.repeat(65_536) }, 'input.payload'],
  ])('with a bad input are refused when they are enqueued: %#', async (input, path) => {
    const error: unknown = await scene.stint
      .enqueue(webhookJob, input as never)
      .catch((thrown: unknown) => thrown)
    expect(isStintError(error, 'invalid-input') && error.issues.map((issue) => issue.path)).toEqual([path])
  })

  test.each([
    [{}, 'webhooks.secrets'],
    [{ secrets: 'short' }, 'webhooks.secrets'],
    [{ secrets: [] }, 'webhooks.secrets'],
    [{ secrets: [secret, other, secret] }, 'webhooks.secrets'],
    [{ secrets: secret, allow: 'http://10.0.0.1' }, 'webhooks.allow'],
    [{ secrets: secret, allow: ['10.0.0.1'] }, 'webhooks.allow'],
    [{ secrets: secret, allow: ['http://10.0.0.1/path'] }, 'webhooks.allow'],
    [{ secrets: secret, alow: [] }, 'webhooks.alow'],
    [null, 'webhooks'],
  ])('a worker with wrong options does not start: %j', (webhooks, path) => {
    expect(() => new Worker({ webhooks: webhooks as never })).toThrow(
      expect.objectContaining({
        code: 'invalid-option',
        issues: [expect.objectContaining({ path }) as object],
        message: expect.not.stringContaining('secret, the next') as string,
      }) as Error,
    )
  })
})
