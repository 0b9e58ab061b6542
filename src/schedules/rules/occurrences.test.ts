import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { firstOccurrences, lastOccurrences } from './occurrences.ts'
import { resolveRule } from './rule.ts'
import type { Rule, RuleOptions } from './rule.ts'

const from = Date.UTC(2026, 0, 1)

function times(options: RuleOptions, after: string, n: number): string[] {
  return firstOccurrences(resolveRule(options), Date.parse(after), n).map(
    ({ ms, shift }) => `${new Date(ms).toISOString()}${shift === undefined ? '' : ` ${shift}`}`,
  )
}

describe('clock changes', () => {
  test.each<[string, RuleOptions, string, string[]]>([
    [
      'a time that does not exist comes at the first instant after',
      { cron: '30 2 * * *', timeZone: 'Europe/Rome' },
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z gap', '2026-03-30T00:30:00.000Z'],
    ],
    [
      'a time that comes twice is done once, the first time',
      { cron: '30 2 * * *', timeZone: 'Europe/Rome' },
      '2026-10-24T12:00:00Z',
      ['2026-10-25T00:30:00.000Z overlap', '2026-10-26T01:30:00.000Z'],
    ],
    [
      'with the hour left open it goes on as ever',
      { cron: '30 * * * *', timeZone: 'Europe/Rome' },
      '2026-10-24T23:45:00Z',
      ['2026-10-25T00:30:00.000Z overlap', '2026-10-25T01:30:00.000Z overlap', '2026-10-25T02:30:00.000Z'],
    ],
    [
      'an interval knows no clock changes',
      { every: '30m', timeZone: 'Europe/Rome' },
      '2026-10-25T00:15:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-25T01:00:00.000Z', '2026-10-25T01:30:00.000Z'],
    ],
    [
      'several times in one gap are one fire',
      { cron: '0,20,40 2 * * *', timeZone: 'Europe/Rome' },
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z gap', '2026-03-30T00:00:00.000Z'],
    ],
  ])('a rule at a clock change: %s', (_, options, after, expectedTimes) => {
    expect(times(options, after, expectedTimes.length)).toEqual(expectedTimes)
  })
})

describe('rules', () => {
  test.each<[RuleOptions, string, string[]]>([
    [{ every: '15m' }, '2026-01-01T00:00:00Z', ['2026-01-01T00:15:00.000Z', '2026-01-01T00:30:00.000Z']],
    [
      { every: '15m', startsAt: '2026-01-01T00:07:00Z' },
      '2025-12-01T00:00:00Z',
      ['2026-01-01T00:07:00.000Z', '2026-01-01T00:22:00.000Z'],
    ],
    [
      { at: ['2026-03-01T00:00:00Z', '2026-02-01T00:00:00Z'] },
      '2026-01-01T00:00:00Z',
      ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    ],
    [{ cron: '*/10 * * * * *' }, '2026-01-01T00:00:05.5Z', ['2026-01-01T00:00:10.000Z']],
    [
      { cron: '0 9 * * MON', endsAt: '2026-01-06T00:00:00Z' },
      '2026-01-01T00:00:00Z',
      ['2026-01-05T09:00:00.000Z'],
    ],
    [{ cron: '0 0 1 * ?' }, '2026-01-01T00:00:00Z', ['2026-02-01T00:00:00.000Z']],
    [{ cron: '0 0 L * *' }, '2026-02-01T00:00:00Z', ['2026-02-28T00:00:00.000Z', '2026-03-31T00:00:00.000Z']],
    [{ cron: '0 0 LW * *' }, '2026-02-01T00:00:00Z', ['2026-02-27T00:00:00.000Z']],
    [{ cron: '0 0 15W * *' }, '2026-02-01T00:00:00Z', ['2026-02-16T00:00:00.000Z']],
    [{ cron: '0 0 * * FRI#2' }, '2026-02-01T00:00:00Z', ['2026-02-13T00:00:00.000Z']],
    [{ cron: '0 0 * * FRI#L' }, '2026-02-01T00:00:00Z', ['2026-02-27T00:00:00.000Z']],
    [{ cron: '0 0 29 2 *' }, '2026-02-01T00:00:00Z', ['2028-02-29T00:00:00.000Z']],
    [{ cron: '@daily' }, '2026-02-01T00:00:00Z', ['2026-02-02T00:00:00.000Z']],
  ])('the rule %j after %s has the expected times', (options, after, expectedTimes) => {
    expect(times(options, after, expectedTimes.length)).toEqual(expectedTimes)
  })

  test('the last times of a long range are found without walking through it', () => {
    const rule = resolveRule({ cron: '* * * * * *' })
    // CPU time and not elapsed time, because this process may have stood still.
    const before = process.cpuUsage()
    const found = lastOccurrences(rule, { afterMs: Date.UTC(2020, 0, 1), untilMs: from, n: 100 })
    expect(process.cpuUsage(before).user).toBeLessThan(500_000)
    expect(found).toHaveLength(100)
    expect(found.at(-1)).toBe(from)
  })
})

describe('hostile expressions', () => {
  const hostile = [
    ...['', ' ', 'x', '* * * *', '* * * * * * *', '* '.repeat(120), 'x'.repeat(250), '*'.repeat(10_000)],
    ...['60 * * * *', '* 24 * * *', '* * 32 * *', '* * * 13 *', '* * * * 8', '*/0 * * * *', '5-1 * * * *'],
    ...[
      '0 0 30 2 *',
      '0 0 31 2,4,6,9,11 *',
      '0 0 31W 2 *',
      '0 0 30 2 +1',
      '0 0 LW 2 +2#1',
      '0 0 31 6 +MON#5',
    ],
    ...[
      '1-59/-1 * * * *',
      `${'1,'.repeat(120)}1 * * * *x`,
      `${'*/1,'.repeat(60)}* * * * *#`,
      '* * * * MON#9',
    ],
    ...['@reboot', '@@@@@', '2026-12-01T00:00:00', '\0 * * * *', '１ * * * *', '-1 * * * *', '1e3 * * * *'],
    ...['* * * * MONMONMON', '* * L-400 * *', '0 0 0 0 0', 'constructor * * * *', '__proto__ * * * *'],
  ]

  /** Refused expressions are not cached, so each try does all the work. */
  function refuse(cron: string): number {
    let thrown: unknown
    const startedAt = performance.now()
    try {
      resolveRule({ cron })
    } catch (error) {
      thrown = error
    }
    const tookMs = performance.now() - startedAt
    expect(thrown).toMatchObject({ code: 'invalid-option' })
    return tookMs
  }

  test.each(hostile)('the hostile expression %j is refused within 10 ms', (cron) => {
    // The fastest of twenty tries, because other processes share the cores and only the expression is to be judged.
    expect(Math.min(...Array.from({ length: 20 }, () => refuse(cron)))).toBeLessThan(10)
  })

  test('any text made of the letters of cron has a next time, or is refused within 10 ms', () => {
    const field = fc.stringMatching(/^[0-9*,/LW#?A-Z-]{1,12}$/)
    const known = fc.constantFrom(
      '*',
      '*/7',
      '0',
      '29',
      '30',
      '31',
      '2',
      '2,4',
      'L',
      'LW',
      '31W',
      'FRI#5',
      '+1',
      '?',
    )
    const expression = fc
      .array(fc.oneof(field, known), { minLength: 4, maxLength: 7 })
      .map((fields) => fields.join(' '))
    fc.assert(
      fc.property(expression, (cron) => {
        let rule: Rule
        try {
          rule = resolveRule({ cron })
        } catch {
          expect(Math.min(...Array.from({ length: 5 }, () => refuse(cron)))).toBeLessThan(10)
          return
        }
        expect(firstOccurrences(rule, from, 1)[0]?.ms).toBeGreaterThan(from)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a time zone keeps the name under which it was given', () => {
    const nameOf = (timeZone: string): string => resolveRule({ cron: '0 2 * * *', timeZone }).timeZone
    expect(['Asia/Kolkata', 'Europe/Kyiv', 'europe/rome', 'utc', 'Etc/UTC'].map(nameOf)).toEqual([
      ...['Asia/Kolkata', 'Europe/Kyiv', 'Europe/Rome', 'UTC', 'UTC'],
    ])
  })

  test.each<[RuleOptions]>([
    [{}],
    [{ cron: '* * * * *', every: '1m' }],
    [{ every: '0.5s' }],
    [{ at: [] }],
    [{ at: ['tomorrow'] }],
    [{ cron: '* * * * *', timeZone: 'Mars/Olympus' }],
    [{ cron: '* * * * *', startsAt: '2027-01-01T00:00:00Z', endsAt: '2026-01-01T00:00:00Z' }],
  ])('the rule %j is refused', (options) => {
    expect(() => resolveRule(options)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
  })
})

test('the last times are found in few steps where a rule names millions of times after months without any', () => {
  const rule = resolveRule({ cron: '* * * * 1 *', timeZone: 'Europe/Rome' })
  const startedAt = performance.now()
  const found = lastOccurrences(rule, { afterMs: 0, untilMs: Date.UTC(2026, 10, 18), n: 1_000 })
  // A walk over each second of January would take seconds; this takes milliseconds.
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  expect(found).toHaveLength(1_000)
  expect(found.at(-1)).toBe(Date.parse('2026-01-31T22:59:59Z'))
  expect(found[0]).toBe(Date.parse('2026-01-31T22:59:59Z') - 999_000)
})
