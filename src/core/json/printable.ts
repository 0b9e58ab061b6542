/**
 * Characters that steer a terminal or reorder what it shows: C0 but for tab and line feed, DEL, C1, the bidirectional
 * controls, and the line and paragraph separators. Names, keys, errors and log lines come from anywhere.
 */
const steering = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text for a terminal or a log: control characters are shown as `\x1b` or `\u202e`. */
export function printable(text: string): string {
  return text.replace(steering, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : escaped(code)
  })
}

/** The same for JSON text, which stays valid and keeps its value. */
export function printableJson(json: string): string {
  return json.replace(steering, (character) => escaped(character.charCodeAt(0)))
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
