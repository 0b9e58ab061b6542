import { pino } from 'pino'
import { printable, printableJson } from '../../core/json/printable.ts'
import { afterRequire } from '../../db/bundle-require.ts'

/** The methods of a logger that the worker uses; pino's own fits. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  isLevelEnabled?(level: string): boolean
}

export const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  isLevelEnabled: () => false,
}

/** Wraps a logger of the user. An error that it throws is dropped: a failed log line must not cost a job. */
export function guarded(logger: Logger): Logger {
  const guard =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void => {
      try {
        logger[level](fields, message)
      } catch {
        // There is no other output to report it to.
      }
    }
  return {
    debug: guard('debug'),
    info: guard('info'),
    warn: guard('warn'),
    error: guard('error'),
    isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
  }
}

/** JSON lines, or lines for people where STINT_LOG is `pretty`: `stint dev` and a terminal ask for those. */
export function defaultLogger(
  environment: NodeJS.ProcessEnv,
  output: { write(line: string): unknown } = standardOutput(),
): Logger {
  const level = environment['STINT_LOG_LEVEL'] ?? 'info'
  if (environment['STINT_LOG'] !== 'pretty')
    return pino(
      { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
      // pino escapes C0 only.
      { write: (line) => void output.write(printableJson(line)) },
    )
  return pino({ level, base: null }, { write: (line) => void output.write(prettyLine(line)) })
}

/**
 * If it can no longer be written to (a closed terminal, a full disk), work goes on without a log. pino does so itself
 * for a broken pipe; any other error would end the process, which then hangs in the attempt to write the rest.
 */
function standardOutput(): ReturnType<typeof pino.destination> {
  const output = afterRequire(pino).destination(1)
  output.on('error', () => {
    output.write = () => true
    output.end = output.flushSync = () => undefined
  })
  return output
}

const levelNames: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info ', 40: 'warn ', 50: 'error' }

/** `23:22:13.123 warn  failed  image.resize 01a1…  attempt 2, retry in 31s`. */
function prettyLine(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as { level: number; time: number; msg: string }
  const clock = new Date(time).toISOString().slice(11, 23)
  const rest = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const text = `${clock} ${levelNames[level] ?? String(level)} ${msg}${rest.length > 0 ? `  ${rest.join(' ')}` : ''}`
  // Indented, so that no text with several lines looks like other lines of the log.
  return `${printable(text).replaceAll('\n', '\n    ')}\n`
}
