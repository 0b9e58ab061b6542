import { checkPayload, signalName } from '../../../contracts/signal.ts'
import type { SignalContract } from '../../../contracts/signal.ts'
import type { Duration } from '../../../core/duration.ts'
import { StintError } from '../../../core/errors.ts'
import { boundedText } from '../../../core/names.ts'
import { durationOption, invalidOption, rejectUnknown } from '../../../core/options.ts'
import { readAsked } from '../../../flows/waiting/approvals.ts'
import type { AskedApproval } from '../../../flows/waiting/approvals.ts'
import { nextId } from '../../../jobs/new/ids.ts'
import { signLink } from '../../../node/approval/link.ts'
import type { ApprovalsConfig } from '../../../node/approval/options.ts'

export interface ApprovalOptions {
  /** How long the links work. */
  expires: Duration
  /** What is to be decided, up to 1,000 characters, for the page of the link. @default the kind of the job */
  about?: string | undefined
}

const mostAnswers = 20
const longestAnswer = 64

/** A call of ctx.approval(). */
export class ApprovalCall {
  readonly signal: string
  readonly expiresMs: number
  readonly #about: string | null
  readonly #contract: SignalContract | string
  readonly #answers: Readonly<Record<string, unknown>>
  readonly #url: string
  readonly #secret: string

  constructor(
    contract: SignalContract | string,
    answers: Readonly<Record<string, unknown>>,
    { options, config }: { options: ApprovalOptions; config: ApprovalsConfig },
  ) {
    // For callers without types.
    const { expires, about, ...rest } = (options as Partial<ApprovalOptions> | undefined) ?? {}
    rejectUnknown('ctx.approval()', rest, ['expires', 'about'])
    this.#contract = contract
    this.signal = signalName(contract)
    this.#answers = answersOption(answers)
    this.expiresMs = durationOption('expires', expires, { minMs: 1 })
    if (about !== undefined && (!boundedText(about, 4_000) || about.length > 1_000))
      throw invalidOption('about', 'a text of 1 to 1,000 characters', about)
    this.#about = about ?? null
    const [secret] = config.secrets
    if (secret === undefined)
      throw missing('secrets', 'STINT_APPROVAL_SECRETS', 'a text of at least 32 bytes')
    if (config.url === undefined) throw missing('url', 'STINT_APPROVAL_URL', 'the address of your console')
    this.#secret = secret
    this.#url = config.url
  }

  /** What is stored of the call. The links are not: they are rights, and people may read the records of a job. */
  async asked(expiresAt: number): Promise<AskedApproval> {
    const answers: [name: string, payload: unknown][] = []
    for (const [name, payload] of Object.entries(this.#answers))
      answers.push([name, JSON.parse(await checkPayload(this.#contract, payload))])
    return { id: nextId(), expiresAt, about: this.#about, answers: Object.fromEntries(answers) }
  }

  /** A link for each answer that was recorded. */
  links(jobId: string, stored: unknown): Record<string, string> {
    const asked = readAsked(stored)
    if (asked === undefined)
      throw new StintError('invalid-row', `The record of ctx.approval() of job ${jobId} is broken.`, {
        jobIds: [jobId],
      })
    const { id, expiresAt, answers } = asked
    const linkOf = (answer: string): string => {
      const token = signLink({ jobId, signal: this.signal, id, answer, expiresAt }, this.#secret)
      return `${this.#url}/approvals/${token}`
    }
    return Object.fromEntries(Object.keys(answers).map((answer) => [answer, linkOf(answer)]))
  }
}

function answersOption(answers: unknown): Readonly<Record<string, unknown>> {
  const isRecord = typeof answers === 'object' && answers !== null && !Array.isArray(answers)
  const names = isRecord ? Object.keys(answers) : []
  const areFine = names.every((name) => boundedText(name, 4 * longestAnswer) && name.length <= longestAnswer)
  if (isRecord && names.length >= 1 && names.length <= mostAnswers && areFine)
    return answers as Readonly<Record<string, unknown>>
  throw invalidOption(
    'answers',
    `1 to ${mostAnswers} payloads by the names of their answers, of at most ${longestAnswer} characters, such as { yes: { ok: true } }`,
    answers,
  )
}

function missing(option: string, variable: string, what: string): StintError {
  return new StintError(
    'invalid-option',
    `ctx.approval() needs \`approvals.${option}\` of the worker: set it, or ${variable}, to ${what}.`,
    { issues: [{ path: `approvals.${option}`, message: 'is missing' }] },
  )
}
