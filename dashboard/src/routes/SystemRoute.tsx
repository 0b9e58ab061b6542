import { kindsQuery, systemQuery } from '../api/system.ts'
import type { Finding, SystemReport } from '../api/system.ts'
import { useLive } from '../api/use-live.ts'
import { CliLine } from '../components/CliLine.tsx'
import { Fact } from '../components/Fact.tsx'
import { Icon } from '../components/Icon.tsx'
import type { IconName } from '../components/Icon.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page, Section } from '../components/Page.tsx'
import { plural } from '../text/format.ts'

/** The findings of `stint doctor`, with their fixes. */
export function SystemRoute() {
  const system = useLive(systemQuery())
  const kinds = useLive(kindsQuery())
  return (
    <Page
      title="System"
      actions={
        <button
          type="button"
          className="button"
          disabled={system.isFetching}
          onClick={() => void system.refetch()}
        >
          Check again
        </button>
      }
    >
      <Loaded query={system}>{(report) => <Report report={report} />}</Loaded>
      {kinds.data === undefined || kinds.data.items.length === 0 ? null : (
        <Section title="Contracts known to the console">
          <ul className="tags">
            {kinds.data.items.map((kind) => (
              <li key={kind.kind}>
                <span className="tag">
                  {kind.kind}{' '}
                  <span className="muted">
                    v{kind.version} · {kind.queue}
                  </span>
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </Page>
  )
}

const order: readonly Finding['level'][] = ['fail', 'warn', 'unknown', 'ok']
const icons: Record<Finding['level'], IconName> = {
  fail: 'fail',
  warn: 'warn',
  unknown: 'unknown',
  ok: 'succeeded',
}

function Report({ report }: { report: SystemReport }) {
  const findings = report.findings.toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
  const bad = findings.filter((finding) => finding.level !== 'ok')
  const good = findings.filter((finding) => finding.level === 'ok')
  const isLooking = report.findingsAsOf === null
  return (
    <>
      <dl className="facts">
        <Fact name="Stint">{report.stintVersion}</Fact>
        <Fact name="Schema">
          {report.schemaVersion}
          {report.pendingMigrations.length > 0 ? (
            <span className="bad"> {plural(report.pendingMigrations.length, 'migration')} not applied</span>
          ) : null}
        </Fact>
        <Fact name="PostgreSQL">{report.postgresVersion ?? 'unknown'}</Fact>
        <Fact name="Console connections">
          {report.console.connections} of {report.console.maxConnections}
        </Fact>
        <Fact name="Viewers">{report.console.viewers}</Fact>
        <Fact name="Requests refused by limits">
          <span className={report.console.refusedByLimit > 0 ? 'bad' : ''}>
            {report.console.refusedByLimit}
          </span>
        </Fact>
      </dl>
      {isLooking ? (
        <Section title="Checking">
          <p className="muted">The first round of checks is still running.</p>
        </Section>
      ) : null}
      {bad.length === 0 ? null : (
        <Section title={plural(bad.length, 'finding')}>
          <ul className="findings">
            {bad.map((finding) => (
              <FindingLine key={finding.check} finding={finding} />
            ))}
          </ul>
        </Section>
      )}
      {good.length === 0 ? null : (
        <Section
          title={
            bad.length === 0 ? `All ${good.length} checks passed` : `${plural(good.length, 'check')} passed`
          }
        >
          <ul className="findings compact">
            {good.map((finding) => (
              <FindingLine key={finding.check} finding={finding} />
            ))}
          </ul>
        </Section>
      )}
      <CliLine command="stint doctor" />
    </>
  )
}

function FindingLine({ finding }: { finding: Finding }) {
  return (
    <li className={`finding finding-${finding.level}`}>
      <Icon name={icons[finding.level]} />
      <div>
        <p>
          <strong>{finding.title}</strong> <span className="muted">{finding.check}</span>
        </p>
        <p>{finding.detail}</p>
        {finding.fix === null ? null : <CliLine command={finding.fix} label="Fix" />}
      </div>
    </li>
  )
}
