import { mutants } from '../mutants/mutants.ts'
import type { Results } from './results.ts'

const start = '<!-- guarantees:start -->'
const end = '<!-- guarantees:end -->'

/** The page with new text between its markers. The rest of the page is written by hand. */
export function withResults(page: string, results: Results): string {
  const from = page.indexOf(start)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The page has no ${start} … ${end}`)
  return `${page.slice(0, from)}${start}\n\n${render(results)}\n${end}${page.slice(to + end.length)}`
}

function render({ runs }: Results): string {
  const machines = new Set(
    runs.map(
      ({ machine, versions: { node, postgres } }) => `${machine}; Node ${node}, PostgreSQL ${postgres}`,
    ),
  )
  return [
    `Each experiment is shown as it was last published, with its date, commit and form. ${[...machines].join('. ')}.`,
    '',
    ...runs.flatMap(section),
    '### Tests of the tests',
    '',
    `${new Set(mutants.map(({ caughtBy }) => caughtBy)).size} guarantees have a small test each that can judge any build of the package. Each of these`,
    `${mutants.length} mutants is a defect in a copy of the built package. Its test must fail; a mutant that no longer`,
    'applies fails as well.',
    '',
    table(
      ['mutant', 'what it does', 'caught by'],
      mutants.map(({ id, what, caughtBy }) => [id, what, `\`${caughtBy}\``]),
    ),
    '',
  ].join('\n')
}

function section(run: Results['runs'][number]): string[] {
  const { name, title, method, seed, counts, verdicts, measures = {}, seconds } = run
  // The smaller of the first two counts: the larger one would claim more trials than there were.
  const [unit = '', tried = 0] =
    Object.entries(counts)
      .slice(0, 2)
      .sort(([, a], [, b]) => a - b)[0] ?? []
  return [
    `### ${capitalised(title)}`,
    '',
    method,
    '',
    table(
      ['what', 'how often'],
      Object.entries(counts).map(([fact, count]) => [words(fact), shown(count)]),
    ),
    '',
    table(
      ['must not happen', 'seen'],
      Object.entries(verdicts).map(([verdict, times]) => [words(verdict), shown(times)]),
    ),
    '',
    ...(Object.keys(measures).length === 0
      ? []
      : [
          table(
            ['measured', ''],
            Object.entries(measures).map(([fact, value]) => [words(fact), shown(value)]),
          ),
          '',
        ]),
    `\`${name}\`, ${run.form} form, ${seconds.toFixed(0)} s, seed ${seed}, on ${run.date} at commit ${run.commit}. Zero in ${shown(tried)} (${words(unit)}) means fewer than ${shown(3 / tried)} in each, at 95 % confidence.`,
    '',
  ]
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** `recoveryP50Ms` → `recovery p50 ms`. */
function words(name: string): string {
  return name
    .replace(/([A-Z]+[0-9]*)/g, ' $1')
    .toLowerCase()
    .trim()
}

function shown(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en')
  // Never show 0.00 for a value above zero.
  return value < 0.01 ? String(Number(value.toPrecision(2))) : value.toFixed(value >= 100 ? 0 : 2)
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}
