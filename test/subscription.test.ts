import { expect, onTestFinished, test } from 'vitest'
import { Subscription } from '../src/db/subscription.ts'
import { createTestDatabase } from './support/database.ts'
import { startFaultProxy } from './support/fault-proxy.ts'

test('a connection that ends again and again leaves no listener behind', async () => {
  const db = await createTestDatabase()
  onTestFinished(() => db.drop())
  const warnings: string[] = []
  // Only the warnings of this test: others in the same process may cause warnings too.
  const onWarning = ({ name, message }: Error): void => {
    if (name === 'MaxListenersExceededWarning') warnings.push(message)
  }
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  let onConnected: () => void = () => undefined
  const troubles: unknown[] = []
  const subscription = new Subscription({
    url: db.url,
    channels: ['news'],
    applicationName: 'listener under test',
    deadlineMs: 10_000,
    // Longer than the test, so that no probe times out.
    probeEveryMs: 3_600_000,
    onPayload: () => undefined,
    onConnected: () => {
      onConnected()
    },
    onTrouble: (error) => troubles.push(error),
  })
  onTestFinished(() => subscription.stop())
  const connected = (): Promise<void> => new Promise((resolve) => (onConnected = resolve))
  let next = connected()
  subscription.start()
  // More often than a signal may have listeners without a warning.
  for (let times = 0; times < 12; times++) {
    await next
    next = connected()
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'listener under test' and datname = current_database()`,
    )
  }
  await next
  expect(warnings).toEqual([])
  // A connection was made each time.
  expect(troubles).toEqual([])
})

test('a half-open connection is detected by its probe, replaced, and receives notifications again', async () => {
  const db = await createTestDatabase()
  onTestFinished(() => db.drop())
  const proxy = await startFaultProxy(db.url)
  const heard: string[] = []
  let onPayload: () => void = () => undefined
  let onConnected: () => void = () => undefined
  const subscription = new Subscription({
    url: proxy.url,
    channels: ['news'],
    applicationName: 'half-open listener',
    probeEveryMs: 20,
    deadlineMs: 1_000,
    onPayload: (payload) => {
      heard.push(payload)
      onPayload()
    },
    onConnected: () => {
      onConnected()
    },
  })
  onTestFinished(() => subscription.stop())
  const connected = (): Promise<void> => new Promise((resolve) => (onConnected = resolve))
  const first = connected()
  subscription.start()
  await first
  const again = connected()
  proxy.swallow()
  await db.query("select pg_notify('news', 'said to nobody')")
  await again
  const told = new Promise<void>((resolve) => (onPayload = resolve))
  await db.query("select pg_notify('news', 'said after it')")
  await told
  expect(heard).toEqual(['said after it'])
})
