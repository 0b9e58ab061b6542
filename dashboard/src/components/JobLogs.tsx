import { logsQuery } from '../api/jobs.ts'
import { useLive } from '../api/use-live.ts'
import { Loaded } from './Loaded.tsx'
import { clockText } from './Time.tsx'

export function JobLogs({ id }: { id: string }) {
  const logs = useLive(logsQuery(id))
  return (
    <Loaded
      query={logs}
      isEmpty={(answer) => answer.items.length === 0}
      empty={
        <>
          No log lines. A handler writes them with <code>ctx.log.info()</code>.
        </>
      }
    >
      {(answer) => (
        <ol className="logs" tabIndex={0} aria-label="Log lines">
          {answer.items.map((line) => (
            <li key={`${line.epoch}-${line.line}`} className={`log log-${line.level}`}>
              <time dateTime={line.at} title={clockText(line.at, false)}>
                {line.at.slice(11, 23)}
              </time>
              <span className="log-level">{line.level}</span>
              <span className="muted">e{line.epoch}</span>
              <span className="log-message">
                {line.message}
                {line.data === null || line.data === undefined ? null : (
                  <code>{JSON.stringify(line.data)}</code>
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  )
}
