import { expect, test } from 'vitest'
import { redact, restoreRedacted } from './redact.ts'

const paths = ['card.number', 'items[].token', '[].code']

test('what the contract names and what has a telling name is replaced, at any depth; the rest stays', () => {
  const input = {
    card: { number: '4242', brand: 'visa' },
    items: [{ token: 't1', id: 1 }, { id: 2 }],
    user: { Password: 'x', hasToken: true, 'api-key': 'k', name: 'ana', stripeToken: 's' },
    headers: { Authorization: 'Bearer y', cookie: null },
  }
  expect(JSON.parse(JSON.stringify(redact(input, paths)))).toEqual({
    isRedacted: true,
    value: {
      card: { number: '[redacted]', brand: 'visa' },
      items: [{ token: '[redacted]', id: 1 }, { id: 2 }],
      user: {
        Password: '[redacted]',
        hasToken: true,
        'api-key': '[redacted]',
        name: 'ana',
        stripeToken: '[redacted]',
      },
      headers: { Authorization: '[redacted]', cookie: null },
    },
  })
  expect(input.card.number).toBe('4242')
})

test('a list at the root, a path that leads nowhere, and values that are no objects', () => {
  expect(JSON.stringify(redact([{ code: 1 }, 2], paths).value)).toBe('[{"code":"[redacted]"},2]')
  expect(redact('text', paths)).toEqual({ value: 'text', isRedacted: false })
  expect(redact(null, paths)).toEqual({ value: null, isRedacted: false })
  expect(redact({ card: '4242' }, paths).isRedacted).toBe(false)
})

test('a name such as __proto__ is data, and what is nested too deep is not shown', () => {
  const hostile: unknown = JSON.parse('{"__proto__":{"password":"x"},"constructor":1}')
  expect(JSON.stringify(redact(hostile, []).value)).toBe(
    '{"__proto__":{"password":"[redacted]"},"constructor":1}',
  )
  let deep: unknown = { password: 'x' }
  for (let level = 0; level < 5_000; level++) deep = { deep }
  expect(JSON.stringify(redact(deep, []).value)).not.toContain('"x"')
})

test('an edit keeps what its editor did not see', () => {
  const original = { card: { number: '4242' }, amount: 1, password: 'p' }
  const seen = JSON.parse(JSON.stringify(redact(original, paths).value)) as typeof original
  const { value, isWhole } = restoreRedacted({ ...seen, amount: 2 }, original, paths)
  expect(isWhole).toBe(true)
  expect(JSON.parse(JSON.stringify(value))).toEqual({ ...original, amount: 2 })
  // A new secret may be given instead.
  const changed = restoreRedacted({ ...seen, password: 'new' }, original, paths)
  expect(JSON.parse(JSON.stringify(changed.value))).toEqual({ ...original, password: 'new' })
})

test('items of a list never get another one’s secret', () => {
  const original = {
    items: [
      { id: 1, token: 'a' },
      { id: 2, token: 'b' },
    ],
  }
  const swapped = {
    items: [
      { id: 2, token: '[redacted]' },
      { id: 1, token: '[redacted]' },
    ],
  }
  const restored = restoreRedacted(swapped, original, paths)
  expect(JSON.parse(JSON.stringify(restored))).toEqual({
    isWhole: true,
    value: {
      items: [
        { id: 2, token: 'b' },
        { id: 1, token: 'a' },
      ],
    },
  })
  // An item that was changed is none that is known: its secret has to be given.
  const edited = { items: [{ id: 3, token: '[redacted]' }] }
  expect(restoreRedacted(edited, original, paths).isWhole).toBe(false)
})
