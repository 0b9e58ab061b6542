import { useState } from 'react'
import { Link } from 'wouter'
import { hasEndedBadly } from '../../../src/core/operation.ts'
import { isOver, operationQuery, steer } from '../api/operations.ts'
import type { Operation } from '../api/operations.ts'
import { useLive } from '../api/use-live.ts'
import { AbortDialog } from '../components/AbortDialog.tsx'
import { CliLine } from '../components/CliLine.tsx'
import { Dialog } from '../components/Dialog.tsx'
import { Fact } from '../components/Fact.tsx'
import { Field } from '../components/Field.tsx'
import { Icon } from '../components/Icon.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { CrashWarning } from '../components/CrashWarning.tsx'
import { verbs } from '../components/OperationDialog.tsx'
import { OperationProgress } from '../components/OperationProgress.tsx'
import { OperationState } from '../components/OperationState.tsx'
import { Page, Section } from '../components/Page.tsx'
import { ProblemNote } from '../components/ProblemNote.tsx'
import { RestoreDialog } from '../components/RestoreDialog.tsx'
import { Time } from '../components/Time.tsx'
import { useAct } from '../components/use-act.ts'
import { useMe } from '../components/use-me.ts'
import { usePanel } from '../components/use-panel.ts'
import { plural, shortId, span, whole } from '../text/format.ts'
import { shell } from '../text/shell.ts'
import { query } from '../url/use-url.ts'

export function OperationRoute({ id }: { id: string }) {
  const operation = useLive(operationQuery(id))
  const { data } = operation
  return (
    <Page
      title={data === undefined ? `Operation ${shortId(id)}` : `${verbs[data.action]} ${shortId(id)}`}
      heading={
        data === undefined ? undefined : (
          <>
            {verbs[data.action]} <span className="muted id">{shortId(id)}</span>{' '}
            <OperationState operation={data} />
          </>
        )
      }
      actions={data === undefined ? undefined : <Actions operation={data} />}
    >
      <Loaded query={operation}>{(answer) => <Detail operation={answer} />}</Loaded>
    </Page>
  )
}

function Actions({ operation }: { operation: Operation }) {
  const { can } = useMe()
  const panel = usePanel()
  const run = useAct((verb: 'pause' | 'resume') => steer(operation.id, verb))
  if (!can('operation')) return null
  const restores = operation.action === 'discard' && operation.acted > 0 && can('restore')
  return (
    <>
      {isOver(operation) ? null : (
        <>
          {operation.state === 'paused' ? (
            <button
              type="button"
              className="button primary"
              disabled={run.isPending}
              onClick={() => {
                run.mutate('resume')
              }}
            >
              Resume
            </button>
          ) : (
            <button
              type="button"
              className="button"
              disabled={run.isPending}
              onClick={() => {
                run.mutate('pause')
              }}
            >
              Pause
            </button>
          )}
          <button
            type="button"
            className="button"
            onClick={() => {
              panel.open('pace')
            }}
          >
            Pace…
          </button>
          <button
            type="button"
            className="button danger"
            onClick={() => {
              panel.open('abort')
            }}
          >
            Abort…
          </button>
        </>
      )}
      {restores ? (
        <button
          type="button"
          className="button"
          onClick={() => {
            panel.open('op-restore')
          }}
        >
          <Icon name="undo" /> Restore…
        </button>
      ) : null}
      {panel.name === 'abort' && !isOver(operation) ? (
        <AbortDialog operation={operation} close={panel.close} />
      ) : null}
      {panel.name === 'pace' ? <PaceDialog operation={operation} close={panel.close} /> : null}
      {panel.name === 'op-restore' && restores ? (
        <RestoreDialog operation={operation} close={panel.close} />
      ) : null}
    </>
  )
}

function PaceDialog({ operation, close }: { operation: Operation; close: () => void }) {
  const [pace, setPace] = useState(operation.pace === null ? '' : String(operation.pace))
  const run = useAct(() => steer(operation.id, 'pace', { pace: pace === '' ? null : Number(pace) }), {
    isQuiet: true,
    done: close,
  })
  return (
    <Dialog
      title="Pace"
      close={close}
      footer={
        <button type="submit" form="pace" className="button primary" disabled={run.isPending}>
          Set the pace
        </button>
      }
    >
      <form
        id="pace"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <Field label="Jobs a second" hint="Empty: as fast as it goes.">
          {({ id, describedBy }) => (
            <input
              id={id}
              aria-describedby={describedBy}
              type="number"
              min={0.1}
              max={10_000}
              step="any"
              value={pace}
              onInput={(event) => {
                setPace(event.currentTarget.value)
              }}
            />
          )}
        </Field>
      </form>
      <CliLine command={`stint op pace ${operation.id} ${pace === '' ? 'max' : pace}`} />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

/** The CLI command for pause or resume, which run at once, without a dialog. */
function LineAtOnce({ operation }: { operation: Operation }) {
  const { can } = useMe()
  if (isOver(operation) || !can('operation')) return null
  const verb = operation.state === 'paused' ? 'resume' : 'pause'
  return (
    <CliLine
      command={shell('stint', 'op', verb, operation.id)}
      label={`${verb === 'pause' ? 'Pause' : 'Resume'}, on the command line`}
    />
  )
}

function Detail({ operation }: { operation: Operation }) {
  const done = operation.acted + operation.skipped + operation.failed
  const skipped = Object.entries(operation.skippedBy)
  const { canaryResult, fates } = operation
  const isRed = hasEndedBadly(operation)
  return (
    <>
      {operation.note === null ? null : (
        <div className={`note ${isRed ? 'note-fail' : 'note-warn'}`} role="status">
          <Icon name={isRed ? 'fail' : 'warn'} />
          <div className="note-body">
            <strong>
              {operation.state === 'stopped'
                ? 'Stopped by its rule'
                : operation.state === 'paused'
                  ? 'It is paused'
                  : isRed
                    ? 'Jobs died again'
                    : 'Note'}
            </strong>
            <span>{operation.note}</span>
          </div>
        </div>
      )}
      {operation.crashed === 0 || isOver(operation) ? null : (
        <CrashWarning crashed={operation.crashed} canary={operation.canary} />
      )}
      <Section title="Progress">
        <OperationProgress operation={operation} />
        <dl className="facts">
          <Fact name="Acted">{whole(operation.acted)}</Fact>
          <Fact name="Skipped">
            {whole(operation.skipped)}
            {skipped.length === 0 ? null : (
              <span className="muted">
                {' '}
                ({skipped.map(([reason, count]) => `${whole(count)} ${reason}`).join(', ')})
              </span>
            )}
          </Fact>
          <Fact name="Failed">
            <span className={operation.failed > 0 ? 'bad' : ''}>{whole(operation.failed)}</span>
          </Fact>
          {isOver(operation) && operation.matched !== null && operation.matched > done ? (
            <Fact name="Untouched">{whole(operation.matched - done)}</Fact>
          ) : null}
          <Fact name="Pace">{operation.pace === null ? 'as fast as it goes' : `${operation.pace}/s`}</Fact>
          {operation.startedAt === null || operation.finishedAt === null ? null : (
            <Fact name="Took">
              {span(Date.parse(operation.finishedAt) - Date.parse(operation.startedAt))}
            </Fact>
          )}
        </dl>
        <LineAtOnce operation={operation} />
      </Section>
      {fates === null ? null : <FatesSection fates={fates} isOver={isOver(operation)} />}
      {operation.canary === 0 ? null : (
        <Section title="Canary">
          <dl className="facts">
            <Fact name="Tried first">{whole(operation.canary)}</Fact>
            <Fact name="Decided">{canaryResult === null ? '–' : whole(canaryResult.decided)}</Fact>
            <Fact name="Succeeded">{canaryResult === null ? '–' : whole(canaryResult.succeeded)}</Fact>
            <Fact name="Failed">{canaryResult === null ? '–' : whole(canaryResult.failed)}</Fact>
            <Fact name="Same error">{canaryResult === null ? '–' : whole(canaryResult.sameError)}</Fact>
            <Fact name="Stops above">
              {[
                operation.stopIf.sameError === null ? undefined : `${operation.stopIf.sameError}% same error`,
                operation.stopIf.anyFailure === null
                  ? undefined
                  : `${operation.stopIf.anyFailure}% of any failure`,
              ]
                .filter((each) => each !== undefined)
                .join(', ') || 'never'}
            </Fact>
          </dl>
        </Section>
      )}
      <Section title="Who, why and what">
        <dl className="facts">
          <Fact name="By">{operation.actor}</Fact>
          <Fact name="Because">{operation.reason}</Fact>
          <Fact name="Asked">
            <Time at={operation.createdAt} />
          </Fact>
          <Fact name="As of">
            <Time at={operation.frozenAt} exact />
          </Fact>
          <Fact name="Matched">
            {operation.matched === null ? 'not counted to the end' : whole(operation.matched)}
          </Fact>
          <Fact name="Never more than">{whole(operation.max)}</Fact>
          <Fact name="On">
            {operation.where === null ? (
              plural(operation.ids, 'chosen job')
            ) : (
              <Link href={`/jobs${query({ where: operation.where })}`}>
                <code>{operation.where}</code>
              </Link>
            )}
          </Fact>
        </dl>
        <CliLine command={operation.cli} />
      </Section>
    </>
  )
}

/** What happened to the jobs that a replay acted on; the numbers add up to the acted jobs. */
function FatesSection({ fates, isOver }: { fates: NonNullable<Operation['fates']>; isOver: boolean }) {
  return (
    <Section title="What became of the jobs">
      <dl className="facts">
        <Fact name="Succeeded">{whole(fates.succeeded)}</Fact>
        <Fact name={isOver ? 'Had not ended' : 'Still live'}>{whole(fates.live)}</Fact>
        <Fact name="Died again, same error">
          <span className={fates.sameError > 0 ? 'bad' : ''}>{whole(fates.sameError)}</span>
        </Fact>
        <Fact name="Died again, another error">
          <span className={fates.otherError > 0 ? 'bad' : ''}>{whole(fates.otherError)}</span>
        </Fact>
        {fates.cancelled === 0 ? null : <Fact name="Cancelled">{whole(fates.cancelled)}</Fact>}
      </dl>
    </Section>
  )
}
