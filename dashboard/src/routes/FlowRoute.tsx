import { Link } from 'wouter'
import { flowQuery } from '../api/flows.ts'
import type { FlowGraph as Flow } from '../api/flows.ts'
import { useLive } from '../api/use-live.ts'
import { CliLine, CopyButton } from '../components/CliLine.tsx'
import { Fact } from '../components/Fact.tsx'
import { FlowDialog } from '../components/FlowDialog.tsx'
import { FlowGraph } from '../components/FlowGraph.tsx'
import { FlowNodes } from '../components/FlowNodes.tsx'
import { FlowState } from '../components/FlowState.tsx'
import { FlowWaterfall } from '../components/FlowWaterfall.tsx'
import { Icon } from '../components/Icon.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page } from '../components/Page.tsx'
import { Tabs } from '../components/Tabs.tsx'
import { Time } from '../components/Time.tsx'
import { useMe } from '../components/use-me.ts'
import { useClosed, usePanel } from '../components/use-panel.ts'
import { useKeys } from '../keys.ts'
import { plural, shortId, whole } from '../text/format.ts'
import { token } from '../text/where.ts'
import { query } from '../url/use-url.ts'

/** A drawing with more nodes is no help. */
const mostDrawn = 500

export function FlowRoute({ id }: { id: string }) {
  const flow = useLive(flowQuery(id))
  const { data } = flow
  return (
    <Page
      title={data === undefined ? `Flow ${shortId(id)}` : `${data.name} ${shortId(id)}`}
      heading={
        data === undefined ? undefined : (
          <>
            {data.name} <span className="muted id">{shortId(id)}</span> <FlowState flow={data} />
          </>
        )
      }
      actions={data === undefined ? undefined : <Actions flow={data} />}
    >
      <Loaded query={flow}>{(answer) => <Detail flow={answer} />}</Loaded>
    </Page>
  )
}

function Actions({ flow }: { flow: Flow }) {
  const { can } = useMe()
  const panel = usePanel()
  const verbs = {
    replay: can('flow') && flow.dead > 0,
    cancel: can('flow') && (flow.state === 'open' || flow.state === 'held'),
  }
  const open = panel.name === 'replay' || panel.name === 'cancel' ? panel.name : undefined
  const isOpen = open !== undefined && verbs[open]
  useClosed(panel, open !== undefined && !isOpen && can('view'))
  useKeys([
    {
      key: 'r',
      label: 'replay the dead jobs of this flow',
      run: () => {
        if (verbs.replay) panel.open('replay')
      },
    },
  ])
  return (
    <>
      {verbs.replay ? (
        <button
          type="button"
          className="button primary"
          onClick={() => {
            panel.open('replay')
          }}
        >
          Replay {whole(flow.dead)} dead…
        </button>
      ) : null}
      {verbs.cancel ? (
        <button
          type="button"
          className="button"
          onClick={() => {
            panel.open('cancel')
          }}
        >
          Cancel…
        </button>
      ) : null}
      <CopyButton text={flow.id} label="Copy id" />
      {isOpen ? <FlowDialog flow={flow} verb={open} close={panel.close} /> : null}
    </>
  )
}

function Detail({ flow }: { flow: Flow }) {
  const graph = { name: 'graph', title: 'Graph', content: () => <FlowGraph flow={flow} /> }
  const list = { name: 'list', title: 'List', content: () => <FlowNodes flow={flow} /> }
  const isSmall = globalThis.matchMedia('(width < 640px)').matches || flow.nodes.length > mostDrawn
  const drawn = flow.nodes.length > mostDrawn ? [] : [graph]
  return (
    <>
      {flow.broken.length === 0 ? null : (
        <div className="note note-warn" role="status">
          <Icon name="warn" />
          <div className="note-body">
            <strong>The rows of this flow have invalid values: {flow.broken.slice(0, 5).join('; ')}.</strong>
            <span>Stint does not write such values; another program did. You can cancel the flow.</span>
          </div>
        </div>
      )}
      <dl className="facts">
        <Fact name="Jobs">
          <Link href={`/jobs${query({ where: token('flow', flow.id) })}`}>
            {whole(flow.total - flow.remaining)} of {whole(flow.total)} ended
          </Link>
        </Fact>
        {flow.dead === 0 ? null : (
          <Fact name="Dead">
            <Link className="bad" href={`/jobs${query({ where: `${token('flow', flow.id)} state:dead` })}`}>
              {whole(flow.dead)}
            </Link>
          </Fact>
        )}
        {flow.heldJobs === 0 ? null : (
          <Fact name="Held downstream">
            <span className="bad">{plural(flow.heldJobs, 'job')}</span>, until the dead ones are replayed
          </Fact>
        )}
        {flow.cancelled === 0 ? null : <Fact name="Cancelled">{whole(flow.cancelled)}</Fact>}
        <Fact name="Created">
          <Time at={flow.createdAt} />
        </Fact>
        {flow.endedAt === null ? null : (
          <Fact name="Ended">
            <Time at={flow.endedAt} />
          </Fact>
        )}
        {flow.parentId === null ? null : (
          <Fact name="Made by">
            <Link href={`/jobs/${flow.parentId}`}>job {shortId(flow.parentId)}</Link>
          </Fact>
        )}
        {flow.uniqueKey === null ? null : <Fact name="Unique key">{flow.uniqueKey}</Fact>}
        {flow.cancelReason === null ? null : <Fact name="Cancelled because">{flow.cancelReason}</Fact>}
      </dl>
      <Tabs
        label="About this flow"
        tabs={[
          ...(isSmall ? [list, ...drawn] : [...drawn, list]),
          { name: 'waterfall', title: 'Waterfall', content: () => <FlowWaterfall flow={flow} /> },
          {
            name: 'cli',
            title: 'Command line',
            content: () => (
              <div className="stack">
                <CliLine command={`stint flow get ${flow.id}`} label="the flow" />
                <CliLine command={`stint flow graph ${flow.id}`} label="its graph" />
                <CliLine command={`stint job list --where flow:${flow.id}`} label="its jobs" />
              </div>
            ),
          },
        ]}
      />
    </>
  )
}
