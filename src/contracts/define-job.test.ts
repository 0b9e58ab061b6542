import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defaultClassRules } from '../core/failures/retry-policy.ts'
import { defineJob, typed } from './define-job.ts'
import { checkInput, readInput } from './input.ts'

describe('defineJob', () => {
  test('defineJob fills in the defaults', () => {
    expect(defineJob({ kind: 'mail.send' })).toMatchObject({
      kind: 'mail.send',
      queue: 'default',
      version: 1,
      priority: 0,
      retry: { attempts: 5, backoff: ['30s', '5m', '30m', '2h'], rules: defaultClassRules },
      timeoutMs: 300_000,
      unique: undefined,
    })
  })

  test('defineJob freezes the contract, which all importing modules share', () => {
    expect(Object.isFrozen(defineJob({ kind: 'mail.send' }))).toBe(true)
  })

  test.each([
    [{ kind: 'no spaces' }, 'kind'],
    [{ kind: '' }, 'kind'],
    [{ kind: 'a'.repeat(129) }, 'kind'],
    [{ kind: 'nul\0' }, 'kind'],
    [{ kind: 'a', queue: '-dash' }, 'queue'],
    [{ kind: 'a', priority: 101 }, 'priority'],
    [{ kind: 'a', priority: 1.5 }, 'priority'],
    [{ kind: 'a', version: 0 }, 'version'],
    [{ kind: 'a', timeout: 'soon' }, 'timeout'],
    [{ kind: 'a', deadline: -1 }, 'deadline'],
    [{ kind: 'a', retry: { attempts: 0 } }, 'retry.attempts'],
    [{ kind: 'a', retry: { backoff: [] } }, 'retry.backoff'],
    [{ kind: 'a', retry: { backoff: ['5m', 'x'] } }, 'retry.backoff'],
    [{ kind: 'a', retry: { backoff: { base: '1s', factor: 0 } } }, 'retry.backoff.factor'],
    [{ kind: 'a', retry: { backoff: null as never } }, 'retry.backoff'],
    [{ kind: 'a', retry: { classify: 'rate-limited' as never } }, 'retry.classify'],
    [{ kind: 'a', retry: { classes: { timeout: 'later' as 'dead' } } }, 'retry.classes.timeout'],
    [{ kind: 'a', retry: { classes: { timeout: null as never } } }, 'retry.classes.timeout'],
    [{ kind: 'a', retry: { classes: { timeout: { attempts: 0 } } } }, 'retry.classes.timeout.attempts'],
    [{ kind: 'a', retry: { classes: { conflict: { attempts: 11 } } } }, 'retry.classes.conflict.attempts'],
    [{ kind: 'a', retry: { classes: { crash: { attempts: 101 } } } }, 'retry.classes.crash.attempts'],
    [{ kind: 'a', retry: { classes: { crash: { backoff: ['1s'] } } } }, 'retry.classes.crash.backoff'],
    [
      { kind: 'a', retry: { classes: { crash: { action: 'in-place' as const } } } },
      'retry.classes.crash.action',
    ],
    [
      { kind: 'a', retry: { classes: { timeout: { action: 'wait' as 'dead' } } } },
      'retry.classes.timeout.action',
    ],
    [
      { kind: 'a', retry: { classes: { timeout: { backoff: { base: 'x' } } } } },
      'retry.classes.timeout.backoff.base',
    ],
    [
      { kind: 'a', retry: { classes: { timeout: { action: 'dead' as const, attempts: 3 } } } },
      'retry.classes.timeout',
    ],
    [{ kind: 'a', unique: { until: 'later' as 'started' } }, 'unique.until'],
    [{ kind: 'a', unique: { until: 'started' as const, for: '1h' } }, 'unique'],
    [{ kind: 'a', unique: { onConflict: 'panic' as 'keep' } }, 'unique.onConflict'],
    [{ kind: 'a', input: {} as never }, 'input'],
    [{ kind: 'a', key: 'tenant' as never }, 'key'],
  ])('defineJob refuses %j, naming %s', (definition, path) => {
    expect(() => defineJob(definition)).toThrow(
      expect.objectContaining({ code: 'invalid-option', issues: [expect.objectContaining({ path })] }),
    )
  })

  test('defineJob suggests the option that was probably meant', () => {
    expect(() => defineJob({ kind: 'a', prioritty: 3 } as never)).toThrow(
      /Unknown option `prioritty`.*Did you mean `priority`\?/,
    )
    expect(() => defineJob({ kind: 'a', retry: { classes: { conection: 'dead' } } as never })).toThrow(
      /Unknown option `conection` of retry\.classes\. Did you mean `connection`\?/,
    )
    expect(() => defineJob({ kind: 'a', retry: { classes: { timeout: { atempts: 3 } } } as never })).toThrow(
      /Unknown option `atempts` of retry\.classes\.timeout\. Did you mean `attempts`\?/,
    )
  })

  test('defineJob completes the retry rules: a class without a rule keeps the default', () => {
    const classify = (): undefined => undefined
    const { retry } = defineJob({
      kind: 'a',
      retry: {
        classify,
        classes: {
          timeout: 'dead',
          connection: { attempts: 50 },
          conflict: { action: 'retry' },
          'rate-limited': { attempts: 100 },
          invalid: { backoff: ['1h'] },
          contract: 'retry',
          unknown: { action: 'in-place' },
          permanent: undefined,
          crash: { attempts: 7 },
        },
      },
    })
    expect(retry.classify).toBe(classify)
    expect(retry.rules).toEqual({
      timeout: { action: 'dead' },
      connection: { action: 'retry', attempts: 50 },
      conflict: { action: 'retry' },
      'rate-limited': { action: 'retry', attempts: 100, backoff: { base: '1s', factor: 2, max: '5m' } },
      invalid: { action: 'retry', backoff: ['1h'] },
      contract: { action: 'retry' },
      permanent: defaultClassRules.permanent,
      crash: { action: 'retry', attempts: 7 },
      unknown: { action: 'in-place', attempts: 3 },
    })
    expect(Object.isFrozen(retry.rules)).toBe(true)
  })

  test('defineJob refuses upcasters that leave a gap', () => {
    expect(() => defineJob({ kind: 'a', version: 3, upcast: { 1: (old) => old } })).toThrow(/without a gap/)
    expect(() => defineJob({ kind: 'a', version: 2, upcast: { 2: (old) => old } })).toThrow(/without a gap/)
    expect(() => defineJob({ kind: 'a', version: 3, upcast: { 2: (old) => old } })).not.toThrow()
  })
})

const schemas = {
  zod: z.object({ id: z.string(), items: z.array(z.object({ n: z.number() })) }),
  valibot: v.object({ id: v.string(), items: v.array(v.object({ n: v.number() })) }),
  arktype: type({ id: 'string', items: type({ n: 'number' }).array() }),
}

describe.each(Object.entries(schemas))('an input checked by %s', (_library, input) => {
  const contract = defineJob({ kind: 'order.ship', input })

  test('an input that fits its schema passes', async () => {
    const checked = await checkInput(contract, { id: 'a', items: [{ n: 1 }] })
    expect(checked).toEqual({
      text: '{"id":"a","items":[{"n":1}]}',
      bytes: 28,
      parsed: { id: 'a', items: [{ n: 1 }] },
    })
  })

  test('an input that does not fit is refused with the path of the fault', async () => {
    const check = async (): Promise<unknown> =>
      checkInput(contract, { id: 'a', items: [{ n: 1 }, { n: 'x' }] })
    await expect(check()).rejects.toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'input.items[1].n', message: expect.any(String) as string }],
    })
  })
})

describe('inputs and versions', () => {
  const contract = defineJob({
    kind: 'image.resize',
    version: 3,
    input: z.object({ imageId: z.string(), width: z.number().default(400) }),
    upcast: {
      1: (v1: { id: string }) => ({ image: v1.id }),
      2: (v2: { image: string }) => ({ imageId: v2.image }),
    },
  })

  test('an input of old code goes through every upcaster to the current version', async () => {
    expect(await readInput(contract, { version: 1, input: { id: 'a' } })).toEqual({
      imageId: 'a',
      width: 400,
    })
    expect(await readInput(contract, { version: 2, input: { image: 'b' } })).toEqual({
      imageId: 'b',
      width: 400,
    })
  })

  test('an input of newer code is refused with what to do', async () => {
    await expect(readInput(contract, { version: 4, input: {} })).rejects.toMatchObject({
      code: 'contract-mismatch',
      message: expect.stringContaining('newer code') as string,
    })
  })

  test('an input older than the first upcaster is refused', async () => {
    const young = defineJob({ kind: 'a', version: 3, upcast: { 2: (old) => old } })
    await expect(readInput(young, { version: 1, input: {} })).rejects.toMatchObject({
      code: 'contract-mismatch',
    })
  })

  test('the schema checks the input as the worker will get it: a Date has become text', async () => {
    const strict = defineJob({ kind: 'a', input: z.object({ at: z.date() }) })
    await expect((async () => checkInput(strict, { at: new Date() }))()).rejects.toMatchObject({
      code: 'invalid-input',
    })
    const coerced = defineJob({ kind: 'a', input: z.object({ at: z.coerce.date() }) })
    const { text } = await checkInput(coerced, { at: new Date(0) })
    expect(text).toBe('{"at":"1970-01-01T00:00:00.000Z"}')
  })

  test('an asynchronous schema is awaited', async () => {
    const slow = defineJob({ kind: 'a', input: z.string().refine((text) => Promise.resolve(text !== 'no')) })
    expect((await checkInput(slow, 'yes')).text).toBe('"yes"')
    await expect(checkInput(slow, 'no')).rejects.toMatchObject({ code: 'invalid-input' })
  })

  test('typed() accepts any input', async () => {
    expect(
      await readInput(defineJob({ kind: 'a', input: typed<{ n: number }>() }), {
        version: 1,
        input: { n: 1 },
      }),
    ).toEqual({ n: 1 })
  })
})
