/** The mask that replaces a hidden value. */
export const redacted = '[redacted]'

/*
 * Names that show that a value is a secret. A name is split into words (`apiKeys`, `api_keys` and `API-KEYS` are `api key`)
 * and is secret if
 *
 * - one of its words is one of `secretWords`, or two neighbours are one of `secretPairs`: `access_token_hash`;
 * - its last word is one of `secretEndings`: `cardPin`;
 * - the whole name is one of `secretNames`: `pass`, but not `boardingPass`;
 * - it is written as one word and ends with one of `joinedEndings`: `clientsecret`;
 *
 * unless its last word is one of `aboutWords`: `tokenCount` and `passwordPolicy` describe a secret but are none.
 */
const secretWords = new Set([
  ...['password', 'passwd', 'passphrase', 'passcode', 'secret', 'token', 'credential', 'authorization'],
  ...['cookie', 'jwt', 'bearer'],
])
const secretPairs = new Set([
  ...['api key', 'private key', 'access key', 'secret key', 'signing key', 'encryption key', 'master key'],
  ...['credit card', 'debit card', 'card number', 'session id', 'otp code', 'pin code'],
])
const secretEndings = new Set(['pwd', 'cvv', 'cvc', 'iban', 'ssn', 'otp', 'pin'])
const secretNames = new Set(['pass', 'auth', 'pan', 'cvv2', 'signature', 'sessionid', 'xapikey'])
const joinedEndings = [
  ...[
    'password',
    'passwd',
    'passphrase',
    'secret',
    'token',
    'apikey',
    'privatekey',
    'accesskey',
    'secretkey',
  ],
  ...['cardnumber', 'creditcard'],
]
const aboutWords = new Set([
  ...['type', 'name', 'count', 'limit', 'length', 'size', 'usage', 'budget', 'policy', 'version', 'status'],
  ...['at', 'ttl', 'expiry', 'expiration', 'expires', 'brand', 'strength', 'hint'],
])

/** Longer names are not parsed: their values are always hidden. */
const longestName = 256

/**
 * Whether a value under this name is a secret. A flag (`hasToken: true`) and null reveal nothing, and a number under a
 * plural name is a count: `maxTokens: 1200`.
 */
export function isSecret(name: string, value: unknown): boolean {
  if (typeof value === 'boolean' || value === null) return false
  if (name.length > longestName) return true
  const words = wordsOf(name)
  if (!isSecretName(words)) return false
  return typeof value !== 'number' || !words.some((word) => word !== singular(word))
}

function isSecretName(words: readonly string[]): boolean {
  const plain = words.map(singular)
  const last = plain.at(-1) ?? ''
  if (aboutWords.has(last)) return false
  const joined = singular(words.join(''))
  return (
    plain.some(
      (word, index) => secretWords.has(word) || secretPairs.has(`${plain[index - 1] ?? ''} ${word}`),
    ) ||
    secretEndings.has(last) ||
    secretNames.has(joined) ||
    joinedEndings.some((ending) => joined.endsWith(ending))
  )
}

function wordsOf(name: string): string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase())
}

function singular(word: string): string {
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word
}

/** The password of `scheme://user:password@host`, up to the last @ before the path. A slash ends it, so no text is read twice. */
const inAuthority = /(:\/\/[^\s/?#:@"'<>]*:)[^\s/?#"'<>]+@/g
const inQuery = /([?&]([\w.-]{1,100})=)([^\s&#"'<>]+)/g

/** A text with the passwords of its URLs replaced, and the query values that have a secret name. */
export function hidePasswords(text: string): string {
  if (!text.includes('://')) return text
  return text
    .replaceAll(inAuthority, `$1${redacted}@`)
    .replaceAll(inQuery, (whole, before: string, name: string, value: string) =>
      isSecret(name, value) ? `${before}${redacted}` : whole,
    )
}
