import { test } from 'vitest'
import { ownBuild } from './harness/scene.ts'
import { named } from './named/all.ts'

test.each(Object.entries(named))('%s', async (_name, judge) => {
  await judge(ownBuild)
})
