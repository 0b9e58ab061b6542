import { Link, useLocation } from 'wouter'
import { act, attemptsQuery, jobQuery } from '../api/jobs.ts'
import type { JobDetail, Verb } from '../api/jobs.ts'
import { useLive } from '../api/use-live.ts'
import { ActDialog } from '../components/ActDialog.tsx'
import { AttemptList } from '../components/AttemptList.tsx'
import { AttemptTimeline } from '../components/AttemptTimeline.tsx'
import { CliLine, CopyButton } from '../components/CliLine.tsx'
import { EditDialog } from '../components/EditDialog.tsx'
import { Fact } from '../components/Fact.tsx'
import { JobLogs } from '../components/JobLogs.tsx'
import { JobLineage } from '../components/JobLineage.tsx'
import { JobSteps } from '../components/JobSteps.tsx'
import { Icon } from '../components/Icon.tsx'
import { Json } from '../components/Json.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Meter } from '../components/Meter.tsx'
import { Page, Section } from '../components/Page.tsx'
import { SignalDialog } from '../components/SignalDialog.tsx'
import { StateBadge } from '../components/StateBadge.tsx'
import { StoredErrorNote } from '../components/StoredErrorNote.tsx'
import { Tabs } from '../components/Tabs.tsx'
import { Time } from '../components/Time.tsx'
import { WhyNotRunning } from '../components/WhyNotRunning.tsx'
import { say } from '../components/toasts.tsx'
import { undoing, useAct } from '../components/use-act.ts'
import { useClosed, usePanel } from '../components/use-panel.ts'
import { useKeys } from '../keys.ts'
import { shortId } from '../text/format.ts'
import { token, whereOf } from '../text/where.ts'
import { query } from '../url/use-url.ts'

export function JobRoute({ id }: { id: string }) {
  const job = useLive(jobQuery(id))
  const { data } = job
  return (
    <Page
      title={data === undefined ? `Job ${shortId(id)}` : `${data.kind} ${shortId(id)}`}
      heading={
        data === undefined ? (
          <>Job {shortId(id)}</>
        ) : (
          <>
            {data.kind} <span className="muted id">{shortId(id)}</span>{' '}
            <StateBadge state={data.state} note={noteOf(data)} />
          </>
        )
      }
      actions={data === undefined ? undefined : <Actions job={data} />}
    >
      <Loaded query={job}>{(answer) => <Detail job={answer} />}</Loaded>
    </Page>
  )
}

function noteOf(job: JobDetail): string | null {
  if (job.discardedAt !== null) return 'in trash'
  if (job.replacedBy !== null) return 'edited and replayed'
  if (job.cancelRequestedAt !== null && job.state === 'running') return 'cancel requested'
  return job.reason
}

const labels: Partial<Record<string, string>> = {
  replay: 'Replay',
  'edit-and-replay': 'Edit & replay…',
  edit: 'Edit & replay…',
  'run-now': 'Run now',
  reschedule: 'Reschedule…',
  reprioritize: 'Priority…',
  signal: 'Send signal…',
  cancel: 'Cancel…',
  discard: 'Discard',
  restore: 'Restore',
}
/** Actions that need no input and can be undone run at once, without a dialog. */
const atOnce = new Set(['replay', 'run-now', 'discard', 'restore'])

function Actions({ job }: { job: JobDetail }) {
  const panel = usePanel()
  const [, navigate] = useLocation()
  const run = useAct((verb: Verb) => act(job, verb), {
    done: (_answer, verb) => {
      say({
        tone: 'done',
        text: `${doneWords[verb] ?? verb}: ${job.kind} ${shortId(job.id)}.`,
        undo:
          verb === 'discard'
            ? undoing(() => act(job, 'restore'), `Restored ${job.kind} ${shortId(job.id)}.`)
            : undefined,
      })
    },
  })
  const can = new Map(job.can.map((each) => [each.verb === 'edit' ? 'edit-and-replay' : each.verb, each.cli]))
  const start = (verb: string): void => {
    if (!can.has(verb)) return
    if (atOnce.has(verb)) run.mutate(verb as Verb)
    else panel.open(verb)
  }
  useKeys([
    {
      key: 'r',
      label: 'replay this job',
      run: () => {
        start('replay')
      },
    },
    {
      key: 'e',
      label: 'edit and replay this job',
      run: () => {
        start('edit-and-replay')
      },
    },
  ])
  const open = panel.name !== undefined && can.has(panel.name) ? panel.name : undefined
  useClosed(panel, panel.name !== undefined && open === undefined)
  return (
    <>
      {[...can.keys()].map((verb) =>
        labels[verb] === undefined ? null : (
          <button
            key={verb}
            type="button"
            className={`button ${verb === 'replay' ? 'primary' : ''}`}
            disabled={run.isPending}
            onClick={() => {
              start(verb)
            }}
          >
            {labels[verb]}
          </button>
        ),
      )}
      <CopyButton text={job.id} label="Copy id" />
      {open === 'edit-and-replay' ? (
        <EditDialog
          job={job}
          cli={can.get(open) ?? ''}
          close={panel.close}
          done={(id) => {
            say({ tone: 'done', text: `Replayed with the new input as ${shortId(id)}.` })
            panel.close()
            navigate(`/jobs/${id}`)
          }}
        />
      ) : open === 'signal' ? (
        <SignalDialog job={job} close={panel.close} />
      ) : open === undefined ? null : (
        <ActDialog job={job} verb={open as Verb} close={panel.close} />
      )}
    </>
  )
}

const doneWords: Partial<Record<string, string>> = {
  replay: 'Replayed',
  'run-now': 'Set to run now',
  discard: 'Moved to the trash',
  restore: 'Restored',
}

/** The live states in which a job does not run. */
const waiting = new Set<string>(['scheduled', 'waiting', 'ready', 'retrying'])

function Detail({ job }: { job: JobDetail }) {
  const attempts = useLive(attemptsQuery(job.id))
  return (
    <>
      {job.broken.length === 0 ? null : (
        <div className="note note-warn" role="status">
          <Icon name="warn" />
          <div className="note-body">
            <strong>This row has invalid values: {job.broken.join(', ')}.</strong>
            <span>
              Stint does not write such values; another program did. The job may never run. You can cancel or
              discard it.
            </span>
          </div>
        </div>
      )}
      <Facts job={job} />
      <LinesAtOnce job={job} />
      {job.progress === null ? null : (
        <div className="progress">
          <Meter value={job.progress.percent} of={100} />
          <span>
            {Math.round(job.progress.percent)}% {job.progress.note}{' '}
            <span className="muted">
              <Time at={job.progress.at} />
            </span>
          </span>
        </div>
      )}
      {waiting.has(job.state) ? <WhyNotRunning job={job} /> : null}
      {waiting.has(job.state) && job.epoch === 0 ? null : (
        <Section title="Timeline">
          <AttemptTimeline job={job} attempts={attempts.data?.items ?? []} />
        </Section>
      )}
      <JobSteps job={job} />
      {job.storedError === null ? null : (
        <Section title={job.state === 'dead' ? 'Final error' : 'Last error'}>
          <StoredErrorNote error={job.storedError} />
        </Section>
      )}
      <Tabs
        label="About this job"
        tabs={[
          { name: 'input', title: 'Input', content: () => <Input job={job} /> },
          {
            name: 'result',
            title: 'Result',
            content: () =>
              job.result === null || job.result === undefined ? (
                <p className="empty">
                  {job.state === 'succeeded' ? 'The handler returned no result.' : 'No result yet.'}
                </p>
              ) : (
                <Json value={job.result} label="Result" />
              ),
          },
          {
            name: 'attempts',
            title: 'Attempts',
            content: () => (
              <Loaded query={attempts}>{(answer) => <AttemptList attempts={answer.items} />}</Loaded>
            ),
          },
          { name: 'logs', title: 'Logs', content: () => <JobLogs id={job.id} /> },
          { name: 'lineage', title: 'Lineage', content: () => <JobLineage job={job} /> },
          { name: 'cli', title: 'Command line', content: () => <Commands job={job} /> },
        ]}
      />
    </>
  )
}

/** The CLI commands of the actions that run at once. The other actions show theirs in their dialog. */
function LinesAtOnce({ job }: { job: JobDetail }) {
  const lines = job.can.filter(({ verb }) => atOnce.has(verb))
  if (lines.length === 0) return null
  return (
    <div className="cli-lines">
      {lines.map(({ verb, cli }) => (
        <CliLine key={verb} command={cli} label={`${labels[verb] ?? verb}, on the command line`} />
      ))}
    </div>
  )
}

function Facts({ job }: { job: JobDetail }) {
  const search = Object.entries(job.search)
  return (
    <dl className="facts">
      <Fact name="Queue">
        <Link href={`/queues/${encodeURIComponent(job.queue)}`}>{job.queue}</Link>
      </Fact>
      {job.key === null ? null : (
        <Fact name="Key">
          <Link href={`/jobs${query({ where: whereOf({ queue: job.queue, key: job.key }) })}`}>
            {job.key}
          </Link>
        </Fact>
      )}
      <Fact name="Attempt">
        {job.attempt} of {job.maxAttempts}
        {job.attemptsBefore > 0 ? (
          <span className="muted"> (+{job.attemptsBefore} before a replay)</span>
        ) : null}
        {job.crashes > 0 ? <span className="bad"> {job.crashes} crashes</span> : null}
      </Fact>
      <Fact name="Priority">{job.priority}</Fact>
      <Fact name="Created">
        <Time at={job.createdAt} />
      </Fact>
      {job.state === 'scheduled' || job.state === 'retrying' ? (
        <Fact name="Due">
          <Time at={job.runAt} />
        </Fact>
      ) : null}
      {job.startedAt === null ? null : (
        <Fact name="Started">
          <Time at={job.startedAt} />
        </Fact>
      )}
      {job.finishedAt === null ? null : (
        <Fact name={job.state === 'dead' ? 'Died' : 'Ended'}>
          <Time at={job.finishedAt} />
        </Fact>
      )}
      {job.deadlineAt === null ? null : (
        <Fact name="Deadline">
          <Time at={job.deadlineAt} />
        </Fact>
      )}
      {job.workerId === null ? null : (
        <Fact name="Worker">
          <Link href={`/jobs${query({ where: token('worker', job.workerId) })}`}>
            {shortId(job.workerId)}
          </Link>
        </Fact>
      )}
      <Fact name="Epoch">{job.epoch}</Fact>
      <Fact name="Contract">
        v{job.version}
        {job.contract.known ? (
          job.contract.version === job.version ? null : (
            <span className="muted"> (now v{job.contract.version})</span>
          )
        ) : (
          <span className="muted"> unknown to the console</span>
        )}
      </Fact>
      <Fact name="Correlation">
        <Link className="id" href={`/jobs${query({ where: token('correlation', job.correlationId) })}`}>
          {job.correlationId.length > 20 ? shortId(job.correlationId) : job.correlationId}
        </Link>
      </Fact>
      {job.flowId === null ? null : (
        <Fact name="Flow">
          <Link className="id" href={`/flows/${job.flowId}`}>
            {shortId(job.flowId)}
          </Link>
        </Fact>
      )}
      {search.map(([name, value]) => (
        <Fact key={name} name={name}>
          <Link href={`/jobs${query({ where: token(`input.${name}`, value) })}`}>{value}</Link>
        </Fact>
      ))}
      {job.isSuspect ? (
        <Fact name="Suspect">its worker was lost while it ran; the next attempt runs alone</Fact>
      ) : null}
    </dl>
  )
}

function Input({ job }: { job: JobDetail }) {
  switch (job.inputHidden) {
    case 'role':
      return <p className="empty">Your role may not see inputs.</p>
    case 'size':
      return (
        <p className="empty">
          The input is too large to show here. Read it with <code>stint job get</code>.
        </p>
      )
    case 'blob':
      return <p className="empty">The input is in the blob store, which the console does not read.</p>
    case null:
      return (
        <>
          {job.redacted ? <p className="muted">Some fields are redacted.</p> : null}
          <Json value={job.input} label="Input" />
        </>
      )
  }
}

function Commands({ job }: { job: JobDetail }) {
  return (
    <div className="stack">
      <CliLine command={`stint job get ${job.id}`} />
      <CliLine command={`stint job why ${job.id}`} label="why it does not run" />
      <CliLine command={`stint job why-twice ${job.id}`} label="why it ran more than once" />
      <CliLine command={`stint job steps ${job.id}`} label="its steps" />
      {job.can.map((each) => (
        <CliLine key={each.verb} command={each.cli} label={each.verb} />
      ))}
    </div>
  )
}
