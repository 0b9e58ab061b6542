import { invalidOption, rejectUnknown } from '../../core/options.ts'
import { secretsOption } from '../secrets.ts'

export interface ApprovalsOptions {
  /** Where people reach the console: 'https://ops.example.com/admin/jobs'. Only workers need it. @default STINT_APPROVAL_URL */
  url?: string | undefined
  /**
   * Signs approval links: a text of at least 32 bytes, or a list of two while one is being replaced. The first signs, both are
   * accepted. The same for workers and consoles. @default STINT_APPROVAL_SECRETS, two of them separated by a comma
   */
  secrets?: string | readonly string[] | undefined
}

export interface ApprovalsConfig {
  /** Without a slash at its end. */
  readonly url: string | undefined
  /** Empty if there are none: then no link is made or accepted. */
  readonly secrets: readonly string[]
}

const leastBytes = 32

export function resolveApprovals(
  options: ApprovalsOptions | undefined,
  env: NodeJS.ProcessEnv,
): ApprovalsConfig {
  if (options !== undefined && (typeof options !== 'object' || (options as object | null) === null))
    throw invalidOption('approvals', 'an object such as { secrets: process.env.APPROVAL_SECRET }', options)
  const { url, secrets, ...rest } = options ?? {}
  rejectUnknown('approvals', rest, ['url', 'secrets'], 'approvals.')
  const where = url ?? inEnv(env, 'STINT_APPROVAL_URL')
  const fromEnv = inEnv(env, 'STINT_APPROVAL_SECRETS')?.split(',')
  return Object.freeze({
    url: where === undefined ? undefined : urlOption('approvals.url', where),
    secrets:
      secrets !== undefined
        ? secretsOption('approvals.secrets', secrets, { leastBytes })
        : fromEnv !== undefined
          ? secretsOption('STINT_APPROVAL_SECRETS', fromEnv, { leastBytes })
          : [],
  })
}

function inEnv(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name]
  return value === '' ? undefined : value
}

function urlOption(name: string, value: unknown): string {
  const isFine =
    typeof value === 'string' &&
    /^https?:\/\/[^\s?#]+$/.test(value) &&
    URL.canParse(value) &&
    new URL(value).password === ''
  if (isFine) return value.replace(/\/+$/, '')
  throw invalidOption(name, "an address such as 'https://ops.example.com/admin/jobs'", value)
}
