import { checkNames } from '../../doctor/checks.ts'
import type { Finding, Level } from '../../doctor/finding.ts'
import { printable } from '../../core/json/printable.ts'
import { choose, databaseHelp, databaseOptions, helpOption, noMore, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { exitCodes } from '../output/errors.ts'
import { paint } from '../output/format.ts'
import type { Styled } from '../output/format.ts'
import { formatHelp, isJson, outputOption, say, sayJson, table } from '../output/output.ts'

const help = `stint doctor    check server settings, schema, vacuum, snapshots, workers and upkeep for problems

It only reads, and takes at most a few seconds. Exit code 7 means that it found a problem.

  --only CHECK,CHECK    run only these checks: ${checkNames.slice(0, 9).join(', ')},
                        ${checkNames.slice(9).join(', ')}
${formatHelp}
${databaseHelp}

Examples
  stint doctor
  stint doctor --only snapshots,dead-rows
  stint doctor -o json | jq -r '.findings[] | select(.fix) | .fix'`

const marks: Readonly<Record<Level, Styled>> = {
  ok: { text: '✓', style: 'green' },
  warn: { text: '▲', style: 'yellow' },
  fail: { text: '✖', style: 'red' },
  unknown: { text: '?', style: 'gray' },
}

export async function doctor(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    only: { type: 'string', multiple: true, default: [] },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(help)
  noMore(positionals)
  const asJson = isJson(values.output)
  const words = values.only.flatMap((text) => text.split(',')).map((word) => word.trim())
  const only = words.length === 0 ? checkNames : words.map((word) => choose('check', word, checkNames))
  const found = await withStint(values, (stint) => stint.doctor({ only }))
  if (asJson) sayJson(found)
  else {
    say(overview(found.findings))
    for (const finding of found.findings) if (finding.level !== 'ok') say(`\n${explained(finding)}`)
  }
  const isFine = found.findings.every(({ level }) => level === 'ok' || level === 'unknown')
  return isFine ? exitCodes.ok : exitCodes.found
}

function overview(findings: readonly Finding[]): string {
  return table(
    ['', 'CHECK', 'FINDING'],
    findings.map(({ check, level, title }) => [marks[level], check, title]),
  )
}

/** Title, meaning and fix, each on its own lines, so that the fix can be copied. */
function explained({ check, level, title, detail, fix }: Finding): string {
  const lines = [`${paint(marks[level])} ${check}: ${printable(title)}`, `  ${printable(detail)}`]
  if (fix !== undefined) lines.push(...fix.split('\n').map((line) => `    ${printable(line)}`))
  return lines.join('\n')
}
