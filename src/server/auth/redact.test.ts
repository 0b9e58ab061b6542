import { expect, test } from 'vitest'
import { redact, restoreRedacted } from './redact.ts'

const paths = ['card.number', 'items[].token', '[].code']

test('redact() replaces values at the contract’s paths and under secret names, at any depth', () => {
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

test('redact() accepts a list at the root, a path without a value, and values that are not objects', () => {
  expect(JSON.stringify(redact([{ code: 1 }, 2], paths).value)).toBe('[{"code":"[redacted]"},2]')
  expect(redact('text', paths)).toEqual({ value: 'text', isRedacted: false })
  expect(redact(null, paths)).toEqual({ value: null, isRedacted: false })
  expect(redact({ card: '4242' }, paths).isRedacted).toBe(false)
})

test('redact() treats __proto__ as an ordinary name and hides values that are nested too deeply', () => {
  const hostile: unknown = JSON.parse('{"__proto__":{"password":"x"},"constructor":1}')
  expect(JSON.stringify(redact(hostile, []).value)).toBe(
    '{"__proto__":{"password":"[redacted]"},"constructor":1}',
  )
  let deep: unknown = { password: 'x' }
  for (let level = 0; level < 5_000; level++) deep = { deep }
  expect(JSON.stringify(redact(deep, []).value)).not.toContain('"x"')
})

test('an edit keeps the values that its editor did not see', () => {
  const original = { card: { number: '4242' }, amount: 1, password: 'p' }
  const seen = JSON.parse(JSON.stringify(redact(original, paths).value)) as typeof original
  const { value, isWhole } = restoreRedacted({ ...seen, amount: 2 }, original, paths)
  expect(isWhole).toBe(true)
  expect(JSON.parse(JSON.stringify(value))).toEqual({ ...original, amount: 2 })
  // A new secret may be given instead.
  const changed = restoreRedacted({ ...seen, password: 'new' }, original, paths)
  expect(JSON.parse(JSON.stringify(changed.value))).toEqual({ ...original, password: 'new' })
})

test('an edited list never gives one item the secret of another', () => {
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
  // A changed item matches no stored item: the editor has to give its secret.
  const edited = { items: [{ id: 3, token: '[redacted]' }] }
  expect(restoreRedacted(edited, original, paths).isWhole).toBe(false)
})

const shownAs = (value: unknown): unknown => JSON.parse(JSON.stringify(redact(value, []).value))

test.each([
  ...[
    'tokens',
    'api_keys',
    'apiKeys',
    'APIKeys',
    'apikeys',
    'X-Api-Key',
    'credit_card_number',
    'creditCards',
  ],
  ...['clientSecret', 'client-secrets', 'clientsecret', 'passwords', 'DB_PASSWORD', 'userPasswordHash'],
  ...['access_token_hash', 'accessTokens', 'refresh_token', 'oauth2Token', 'awsSecretAccessKey', 'token_v2'],
  ...[
    'private_key_pem',
    'signingKeys',
    'card_cvv',
    'cardPin',
    'otpCode',
    'customerIban',
    'sessionIds',
    'jwts',
  ],
  ...['authorizationHeader', 'set-cookie', 'session_cookies', 'credentials', 'bearer', 'pass', 'ssn'],
])('redact() replaces a text, a list and an object under %s', (name) => {
  for (const value of ['x', ['x'], { a: 'x' }])
    expect(shownAs({ [name]: value })).toEqual({ [name]: '[redacted]' })
})

test.each([
  ...['tokenizer', 'tokenization', 'tokenType', 'tokenCount', 'token_limit', 'tokenExpiresAt', 'secretary'],
  ...['secretName', 'passwordless', 'password_policy', 'passenger', 'passengers', 'boardingPass', 'compass'],
  ...['pinnedAt', 'spinner', 'author', 'authors', 'authority', 'japan', 'monkey', 'turnkey', 'key', 'keys'],
  ...['cardholder', 'cards', 'signal', 'cookbook', 'session', 'accessLevel', 'apiVersion'],
])('redact() keeps a text under %s', (name) => {
  expect(shownAs({ [name]: 'x', deep: { [name]: 'x' } })).toEqual({ [name]: 'x', deep: { [name]: 'x' } })
})

test('redact() keeps a number under a plural name, which is a count, and replaces it under a singular name', () => {
  const counts = { tokens: 1200, maxTokens: 10, max_tokens: 10, maxtokens: 1, promptTokens: 5, tokensUsed: 3 }
  expect(shownAs(counts)).toEqual(counts)
  expect(shownAs({ pin: 1234, cvv: 123, otp: 9, token: 5, cardNumber: 4242, otps: 7 })).toEqual({
    pin: '[redacted]',
    cvv: '[redacted]',
    otp: '[redacted]',
    token: '[redacted]',
    cardNumber: '[redacted]',
    otps: 7,
  })
  expect(shownAs({ hasToken: true, tokens: false, password: null })).toEqual({
    hasToken: true,
    tokens: false,
    password: null,
  })
})

test.each([
  ['postgres://ana:pa%20ss@db.example.com:5432/app', 'postgres://ana:[redacted]@db.example.com:5432/app'],
  ['redis://:hunter2@cache/0', 'redis://:[redacted]@cache/0'],
  ['connect to "https://a:p@ss@b.example/x" failed', 'connect to "https://a:[redacted]@b.example/x" failed'],
  ['amqp://a:1@h,amqp://b:2@h', 'amqp://a:[redacted]@h,amqp://b:[redacted]@h'],
  ['https://h/cb?id=7&access_token=abc#x', 'https://h/cb?id=7&access_token=[redacted]#x'],
])('redact() hides the password in %s', (text, shown) => {
  expect(shownAs({ note: [text] })).toEqual({ note: [shown] })
  expect(redact(text, [])).toEqual({ value: shown, isRedacted: true })
})

test('redact() keeps texts with colons and at signs that are no passwords', () => {
  for (const text of [
    ...['http://localhost:8080/a@b', 'mailto:ana@example.com', 'https://ana@example.com/x', 'a:b@c', '://:@'],
    ...[
      'see http://h:80 and write to x@y',
      '{"a":"http://h:80","b":"x@y"}',
      '?id=7&page=2',
      'https://h:80/?q=a@b',
    ],
  ])
    expect(shownAs(text)).toBe(text)
})

test('redact() reads a text in linear time', () => {
  const hostile = [
    ...['a'.repeat(1_000_000), '://'.repeat(300_000), '://a:'.repeat(200_000), `://${':'.repeat(1_000_000)}`],
    ...['?a='.repeat(300_000), '&'.repeat(1_000_000), `?${'a'.repeat(1_000_000)}`, 'a.'.repeat(500_000)],
  ]
  const before = performance.now()
  for (const text of hostile) shownAs(text)
  expect(performance.now() - before).toBeLessThan(2_000)
})

test('an edited text keeps the password in its URL, and a mask without an original is reported with its place', () => {
  const original = { db: 'postgres://a:secret@h/x', list: [{ url: 'redis://:p@h' }], note: 'n' }
  const seen = shownAs(original) as typeof original
  const kept = restoreRedacted({ ...seen, note: 'm' }, original, [])
  expect(JSON.parse(JSON.stringify(kept))).toEqual({ value: { ...original, note: 'm' }, isWhole: true })
  for (const [edited, pointer] of [
    [{ ...seen, db: 'postgres://a:[redacted]@other/x' }, '/db'],
    [{ ...seen, note: '[redacted]' }, '/note'],
    [{ ...seen, list: [{ url: 'redis://:[redacted]@other' }] }, '/list/0/url'],
    [{ ...seen, 'a/b': { password: '[redacted]' } }, '/a~1b/password'],
    [{ ...seen, tokens: ['[redacted]'] }, '/tokens/0'],
    ['[redacted]', ''],
  ] as const)
    expect(restoreRedacted(edited, original, [])).toMatchObject({ isWhole: false, pointer })
  // A stored text that is `[redacted]` itself is data.
  const said = { note: '[redacted]' }
  expect(restoreRedacted(said, said, []).isWhole).toBe(true)
})
