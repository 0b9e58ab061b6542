import type { ErrorGroup, ErrorGroupSummary, ErrorHour } from '../../stats/errors/error-groups.ts'
import { errorStatuses } from '../../core/failures/error-status.ts'
import { missingGroup } from '../../client/dead/error-groups.ts'
import { durationMs } from '../../core/duration.ts'
import { asTyped } from '../actor.ts'
import {
  choose,
  databaseHelp,
  databaseOptions,
  helpOption,
  noMore,
  parse,
  UsageError,
  wholeNumber,
} from '../arguments.ts'
import { withStint } from '../connect.ts'
import { moment, oneLine, relative, sparkline } from '../output/format.ts'
import { facts, note, outputHelp, outputOf, outputOption, say, sayJson, table } from '../output/output.ts'
import type { Output } from '../output/output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint error list      groups of the same error, last seen first
stint error get       details of one group: message, versions, failures per day
stint error resolve   mark a group as fixed; it reopens if the error occurs again
stint error ignore    hide a group for some time or forever
stint error reopen    open a resolved or ignored group again

stint error <command> --help has options and examples.`

const listOptionsHelp = `  --kind NAME           of jobs of this kind
  --limit N             1 to 200 (default: 50)
${outputHelp}
${databaseHelp}`

const listHelp = `stint error list    groups of the same error, last seen first

FAILED and DEAD are of the last 24 hours, TREND is those hours one by one. Workers write them every few seconds.

  --status STATUS       ${errorStatuses.join(', ')} (default: all)
${listOptionsHelp}

Examples
  stint error list --status open
  stint error list --kind card.charge -o json | jq '.[] | [.fingerprint, .title]'`

const groupsHelp = `stint dead groups    errors that jobs died of in the last 30 days, last seen first

  --status STATUS       ${errorStatuses.join(', ')} (default: all)
${listOptionsHelp}

Examples
  stint dead groups
  stint dead groups --status open -o id`

/** `stint error list`, and `stint dead groups` for errors that made jobs dead. */
function listing({ deadly, text }: { deadly: boolean; text: string }) {
  return async (args: readonly string[]): Promise<number> => {
    const { values, positionals } = parse(args, {
      status: { type: 'string' },
      kind: { type: 'string' },
      limit: { type: 'string' },
      ...outputOption,
      ...databaseOptions,
      ...helpOption,
    })
    if (values.help) return say(text)
    noMore(positionals)
    const output = outputOf(values.output)
    const status = values.status === undefined ? undefined : choose('status', values.status, errorStatuses)
    const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
    const groups = await withStint(values, (stint) =>
      stint.errors.list({ status, kind: values.kind, limit, deadly }),
    )
    if (output === 'json') return sayJson(groups)
    if (output === 'id') for (const { fingerprint } of groups) say(fingerprint)
    else if (groups.length > 0) say(groupTable(groups, new Date()))
    if (groups.length === 0) note('no error groups match')
    return 0
  }
}

function groupTable(groups: readonly ErrorGroupSummary[], now: Date): string {
  const heads = ['GROUP', 'KIND', 'STATUS', '>FAILED', '>DEAD', 'TREND 24h', 'LAST', 'VERSIONS', 'ERROR']
  const rows = groups.map((group) => [
    ...[group.fingerprint, group.kind, statusText(group), String(group.failures)],
    { text: String(group.deaths), style: group.deaths > 0 ? ('red' as const) : undefined },
    ...[sparkline(group.trend.map(total)), relative(group.lastSeen, now), versionsText(group.versions)],
    oneLine(`${group.name}: ${group.title}`, 80),
  ])
  return table(heads, rows, { spare: ['TREND 24h', 'VERSIONS', 'STATUS'] })
}

function total({ failures, deaths }: ErrorHour): number {
  return failures + deaths
}

function versionsText(versions: readonly string[]): string {
  const last = versions.slice(-2).join(', ')
  return versions.length > 2 ? `… ${last}` : last
}

function statusText({ status, regressedAt, resolvedIn, ignoredUntil }: ErrorGroupSummary): string {
  if (status === 'open') return regressedAt === null ? 'open' : 'regressed'
  if (status === 'resolved') return resolvedIn === null ? 'resolved' : `resolved in ${resolvedIn}`
  return ignoredUntil === null ? 'ignored' : `ignored until ${ignoredUntil.toISOString().slice(0, 16)}Z`
}

const fingerprintHelp = `${outputHelp}
${databaseHelp}

The first 4 or more characters of a fingerprint are enough.`

const getHelp = `stint error get FINGERPRINT    details of one group: message, versions, failures per day

${fingerprintHelp}

Examples
  stint error get b02c9e5177aa01f3`

const resolveHelp = `stint error resolve FINGERPRINT    mark a group as fixed

Seen again in that version of your app or a newer one, it is open again, as regressed.

  --in VERSION          the version that has the fix (default: any version, from now on)
  --reason TEXT         why, for the audit
${fingerprintHelp}

Examples
  stint error resolve b02c9e5177aa01f3 --in v215`

const ignoreHelp = `stint error ignore FINGERPRINT    hide a group of errors

  --for DURATION        30m, 2h, 7d (default: for ever)
  --reason TEXT         why, for the audit
${fingerprintHelp}

Examples
  stint error ignore b02c9e5177aa01f3 --for 7d`

const reopenHelp = `stint error reopen FINGERPRINT    open a resolved or ignored group again

  --reason TEXT         why, for the audit
${fingerprintHelp}

Examples
  stint error reopen b02c9e5177aa01f3`

const oneOptions = { ...outputOption, ...databaseOptions, ...helpOption } as const
const triageOptions = { reason: { type: 'string' }, ...oneOptions } as const

function onlyFingerprint([fingerprint, ...more]: readonly string[]): string {
  if (fingerprint === undefined) throw new UsageError('Missing argument: the fingerprint of an error group.')
  noMore(more)
  return fingerprint
}

function sayGroup(group: ErrorGroup, output: Output): number {
  if (output === 'json') return sayJson(group)
  if (output === 'id') return say(group.fingerprint)
  return say(groupPage(group, new Date()))
}

function groupPage(group: ErrorGroup, now: Date): string {
  const days = new Map<string, number>()
  for (const hour of group.hours) {
    const day = hour.at.toISOString().slice(0, 10)
    days.set(day, (days.get(day) ?? 0) + total(hour))
  }
  return facts([
    ['group', group.fingerprint],
    ['kind', group.kind],
    ['status', statusText(group)],
    ['regressed', moment(group.regressedAt, now)],
    ['class', group.class],
    ['error', `${group.name}: ${group.message}`],
    ['first seen', moment(group.firstSeen, now)],
    ['last seen', moment(group.lastSeen, now)],
    ['versions', group.versions.join(', ')],
    ['example job', group.sampleJob],
    ['last 24h', `${sparkline(group.trend.map(total))}  ${group.failures} failed, ${group.deaths} dead`],
    ['by day', [...days].map(([day, count]) => `${day} ${count}`).join(', ')],
  ])
}

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, oneOptions)
  if (values.help) return say(getHelp)
  const fingerprint = onlyFingerprint(positionals)
  const group = await withStint(values, async (stint) =>
    stint.errors.get(await stint.errors.find(fingerprint)),
  )
  return sayGroup(group ?? missingGroup(fingerprint), outputOf(values.output))
}

async function resolve(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { in: { type: 'string' }, ...triageOptions })
  if (values.help) return say(resolveHelp)
  const fingerprint = onlyFingerprint(positionals)
  const group = await withStint(values, async (stint) =>
    asTyped(stint).errors.resolve(await stint.errors.find(fingerprint), {
      version: values.in,
      reason: values.reason,
    }),
  )
  return sayGroup(group, outputOf(values.output))
}

async function ignore(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { for: { type: 'string' }, ...triageOptions })
  if (values.help) return say(ignoreHelp)
  const fingerprint = onlyFingerprint(positionals)
  if (values.for !== undefined && durationMs(values.for) === undefined)
    throw new UsageError(`Expected --for to be a duration such as 2h or 7d, got '${values.for}'.`)
  const group = await withStint(values, async (stint) =>
    asTyped(stint).errors.ignore(await stint.errors.find(fingerprint), {
      for: values.for,
      reason: values.reason,
    }),
  )
  return sayGroup(group, outputOf(values.output))
}

async function reopen(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, triageOptions)
  if (values.help) return say(reopenHelp)
  const fingerprint = onlyFingerprint(positionals)
  const group = await withStint(values, async (stint) =>
    asTyped(stint).errors.reopen(await stint.errors.find(fingerprint), { reason: values.reason }),
  )
  return sayGroup(group, outputOf(values.output))
}

const list = listing({ deadly: false, text: listHelp })
export const deadGroups = listing({ deadly: true, text: groupsHelp })
export const error = nounOf(help, { list, get, resolve, ignore, reopen })
