import { createRequire } from 'node:module'

/*
 * pg and pino are CommonJS. Bundled into an ES module they find no `require` for Node's own modules ("Dynamic require
 * of "events" is not supported"), so a bundle gets one here. The published files do not: an ES module in Node has no
 * `require`, and other packages may check for that.
 */
const isAsPublished = /\/(?:dist\/(?:chunks\/[A-Z\d]{8}|db\/bundle-require)\.js|src\/db\/bundle-require\.ts)$/
/** Undefined in a bundle that is CommonJS, which has a `require`. */
const here = import.meta.url as string | undefined
if (here !== undefined && !isAsPublished.test(here) && !('require' in globalThis))
  Object.assign(globalThis, { require: createRequire(here) })

/** Returns the module unchanged. A file that calls this is loaded after this one, also by our own bundler. */
export function afterRequire<Module>(module: Module): Module {
  return module
}
