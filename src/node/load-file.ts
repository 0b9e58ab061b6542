import { pathToFileURL } from 'node:url'

/** Loads a file of TypeScript or JavaScript, without a build step, and returns its exports. */
export async function loadFile(path: string): Promise<object> {
  const { href } = pathToFileURL(path)
  if (/\.[cm]?tsx?$/.test(path)) await registerTypeScript()
  try {
    return (await import(href)) as object
  } catch (error) {
    if (!isTypeScriptTrouble(error)) throw error
    // JavaScript that imports TypeScript. Imported under another URL, because Node caches the failure of the first
    // import.
    await registerTypeScript()
    return (await import(`${href}?typescript`)) as object
  }
}

/** Loaded only here: a program in JavaScript does not pay for a compiler. */
async function registerTypeScript(): Promise<void> {
  const esm = await import('tsx/esm/api')
  const cjs = await import('tsx/cjs/api')
  esm.register()
  cjs.register()
}

const troubles = [
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_INVALID_TYPESCRIPT_SYNTAX',
  'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
]

function isTypeScriptTrouble(error: unknown): boolean {
  return error instanceof Error && 'code' in error && troubles.includes(String(error.code))
}
