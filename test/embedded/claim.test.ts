import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { claimFolder, newestClaim, type KeeperAddress } from '../../src/embedded/claim.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'stint-claim-'))
  onTestFinished(() => rm(dir, { recursive: true }))
})

test('one of many processes that claim a folder becomes its keeper', async () => {
  const results = await Promise.all(range(20).map((pid) => claimFolder(dir, keeper(pid), isDeadNever)))
  expect(results.filter(Boolean)).toHaveLength(1)
  expect(await newestClaim(dir)).toEqual({ generation: 1, address: keeper(results.indexOf(true)) })
  expect(await readdir(dir)).toEqual(['keeper-1.json'])
})

test('a dead keeper has one successor, and its claim is removed', async () => {
  await claimFolder(dir, keeper(99), isDeadNever)
  await writeFile(join(dir, 'keeper-crashed.tmp'), '')
  const isDead = (other: KeeperAddress) => Promise.resolve(other.pid === 99)
  const results = await Promise.all(range(20).map((pid) => claimFolder(dir, keeper(pid), isDead)))
  expect(results.filter(Boolean)).toHaveLength(1)
  expect(await readdir(dir)).toEqual(['keeper-2.json'])
})

test('a process that pauses while other keepers come and go yields to the newest', async () => {
  await claimFolder(dir, keeper(1), isDeadNever)
  const sleeper = claimFolder(dir, keeper(2), async (other) => {
    if (other.pid !== 1) return false
    // While it checks that keeper 1 is dead, two more keepers come, and claim 2 is free again.
    await claimFolder(dir, keeper(3), isDeadOnce(1))
    await claimFolder(dir, keeper(4), isDeadOnce(3))
    return true
  })
  expect(await sleeper).toBe(false)
  expect(await newestClaim(dir)).toEqual({ generation: 3, address: keeper(4) })
  expect(await readdir(dir)).toEqual(['keeper-3.json'])
})

test('an incomplete claim file counts as a dead claim', async () => {
  await writeFile(join(dir, 'keeper-5.json'), '{"pid":')
  expect(await claimFolder(dir, keeper(1), isDeadNever)).toBe(true)
  expect(await newestClaim(dir)).toEqual({ generation: 6, address: keeper(1) })
})

const isDeadNever = () => Promise.resolve(false)
const isDeadOnce = (pid: number) => (other: KeeperAddress) => Promise.resolve(other.pid === pid)

function keeper(pid: number): KeeperAddress {
  return { pid, port: 1, token: 'token', answer: 'answer' }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}
