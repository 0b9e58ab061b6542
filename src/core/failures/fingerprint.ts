import { prefixOf } from '../json/utf8.ts'

export interface FingerprintSource {
  kind: string
  failureClass: string
  name: string
  message: string
  stack?: string | undefined
}

/**
 * 16 hex characters that are the same for what a person would call the same error: same kind of job, same error, thrown
 * by the same function of the same file, with other ids and another build's line numbers.
 *
 * Directories are left out, since each machine has its own, and so are frames of Node and of packages: otherwise a
 * library that changes its internals would split the group.
 */
export function fingerprint({ kind, failureClass, name, message, stack = '' }: FingerprintSource): string {
  const said = normalizeMessage(message)
  return fnv1a64([kind, failureClass, name, said, ...inAppFrames(stack, message)].join('\n'))
}

const mostFrames = 3
const mostCharacters = 500

/**
 * A message with everything replaced that differs from one failure to the next: ids, numbers, times, addresses, data.
 *
 * Each pattern starts at the edge of a word and is bounded, so that a hostile message of kilobytes is read in linear
 * time. Hex and numbers share a placeholder, because one hex id in fifty is all digits.
 */
export function normalizeMessage(message: string): string {
  const text = patterns
    .reduce((rest, [pattern, placeholder]) => rest.replace(pattern, placeholder), message)
    .replace(/\s+/g, ' ')
    .trim()
  return prefixOf(text, mostCharacters)
}

const patterns: readonly (readonly [RegExp, string])[] = [
  [/(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>]+/gi, '<url>'],
  [/(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g, '<mail>'],
  [/(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-z])/gi, '<uuid>'],
  [
    /(?<!\d)\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?Z|[+-]\d{2}(?::?\d{2})?)?)?(?!\d)/g,
    '<time>',
  ],
  [
    /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? [\w ,-]{5,20} \d{2}:\d{2}:\d{2}(?: (?:GMT|UTC)(?:[+-]\d{4})?(?: \([^)]{1,40}\))?| \d{4})?/g,
    '<time>',
  ],
  [/(?<!\d)\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?!\d)/g, '<time>'],
  [/(?<![\w.@+~/-])(?:[\w.@+~-]{1,100})?(?:\/[\w.@+%=-]{1,255}){2,}\/?/g, '<path>'],
  [/(?<![a-z])[a-z]:\\[^\s"'`<>|]+/gi, '<path>'],
  [/(?<!\w)(["'`])(?:(?!\1).){16,}?\1(?!\w)/g, '<text>'],
  // Hex from 8 characters, and the mixed ids that are longer: nano ids, ULIDs, tokens.
  [/(?<![0-9a-z])(?:0x)?(?=[a-f]{0,64}\d)[0-9a-f]{8,}(?![0-9a-z])/gi, '<n>'],
  [/(?<![0-9a-z])(?=[a-z]{0,64}\d[a-z]{0,64}\d)[0-9a-z]{12,}(?![0-9a-z])/gi, '<n>'],
  [/\d+(?:[.,]\d+)*/g, '<n>'],
]

/** Where the frames begin in a stack: after the message, which may itself have lines that look like one. */
export function framesStart(stack: string, message: string): number {
  const at = stack.indexOf(message)
  return stack.indexOf('\n    at ', at === -1 ? 0 : at + message.length)
}

function inAppFrames(stack: string, message: string): string[] {
  const start = framesStart(stack, message)
  if (start === -1) return []
  const lines = stack.slice(start).split('\n')
  return lines
    .map(inAppFrame)
    .filter((frame) => frame !== undefined)
    .slice(0, mostFrames)
}

/** `at async Mailer.send (file:///app/src/mailer.ts:12:3)` is `Mailer.send mailer.ts`. */
function inAppFrame(line: string): string | undefined {
  const text = line.trim()
  if (!text.startsWith('at ')) return undefined
  const frame = text.slice('at '.length).replace(/^async /, '')
  const paren = frame.endsWith(')') ? frame.lastIndexOf(' (') : -1
  const location = paren === -1 ? frame : frame.slice(paren + 2, -1)
  if (/^(?:node:|internal\/|native$|index \d)|<anonymous>|[\\/]node_modules[\\/]/.test(location))
    return undefined
  const caller = paren === -1 ? '' : frame.slice(0, paren).replace(/^new | \[as .*\]$/g, '')
  const file = location.replace(/(?::\d+){1,2}$/, '').replace(/[?#].*$/, '')
  return `${caller} ${file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1)}`
}

const encoder = new TextEncoder()

/**
 * FNV-1a with 64 bits, in two halves: the prime is 2^40 + 0x1b3, so no product leaves what a double holds exactly.
 *
 * It need not resist attacks: a person who can make two errors collide could as well throw the same error twice. With
 * a million groups the odds of any accidental collision are one in forty million.
 */
function fnv1a64(text: string): string {
  let high = 0xcbf29ce4
  let low = 0x84222325
  for (const byte of encoder.encode(text)) {
    low = (low ^ byte) >>> 0
    const product = low * 0x1b3
    high = (Math.imul(high, 0x1b3) + (low << 8) + Math.floor(product / 2 ** 32)) >>> 0
    low = product >>> 0
  }
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}
