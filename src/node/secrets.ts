import { invalidOption } from '../core/options.ts'

const mostSecrets = 2

/** One secret, or two while one of them is being replaced. */
export function secretsOption(
  name: string,
  secrets: unknown,
  { leastBytes }: { leastBytes: number },
): readonly string[] {
  const given: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  const areFine = given.every((one) => typeof one === 'string' && Buffer.byteLength(one) >= leastBytes)
  if (areFine && given.length >= 1 && given.length <= mostSecrets) return given as string[]
  // Without the value: it may be a secret.
  throw invalidOption(name, `one text of at least ${leastBytes} bytes, or a list of two`, '[hidden]')
}
