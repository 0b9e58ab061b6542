import { queuesQuery } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { Loaded } from '../components/Loaded.tsx'
import { Page, Section } from '../components/Page.tsx'
import { queueTimes, QueueTable } from '../components/QueueTable.tsx'
import { useRowKeys } from '../components/use-row-keys.ts'

export function QueuesRoute() {
  const queues = useLive(queuesQuery())
  useRowKeys()
  return (
    <Page title="Queues">
      <Loaded
        query={queues}
        isEmpty={(answer) => answer.items.length === 0}
        empty="No queue has had a job yet."
      >
        {(answer) => (
          <Section title="All queues" aside={<span className="muted">{queueTimes}</span>}>
            <QueueTable queues={answer.items} />
          </Section>
        )}
      </Loaded>
    </Page>
  )
}
