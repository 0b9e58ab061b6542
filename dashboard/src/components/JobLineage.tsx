import { lineageQuery } from '../api/jobs.ts'
import type { JobDetail, JobItem } from '../api/jobs.ts'
import { useLive } from '../api/use-live.ts'
import { JobTable } from './JobTable.tsx'
import { Loaded } from './Loaded.tsx'

/** The related jobs of a job: parent, children, edited copies, and jobs with the same correlation id. */
export function JobLineage({ job }: { job: JobDetail }) {
  const lineage = useLive(lineageQuery(job.id))
  return (
    <Loaded
      query={lineage}
      isEmpty={(answer) =>
        answer.parent === null &&
        answer.replaces === null &&
        answer.replacedBy === null &&
        answer.children.length === 0 &&
        answer.correlated.length === 0
      }
      empty="No related jobs: no parent, no children, no edited copy, and no other job with its correlation id."
    >
      {(answer) => (
        <div className="stack">
          <Part title="Parent job" jobs={one(answer.parent)} />
          <Part title="Edited copy of this dead letter" jobs={one(answer.replaces)} />
          <Part title="Replaced by this edited copy" jobs={one(answer.replacedBy)} />
          <Part title="Child jobs" jobs={answer.children} />
          <Part
            title="Jobs with the same correlation id"
            jobs={answer.correlated.filter(({ parentId }) => parentId !== job.id)}
          />
        </div>
      )}
    </Loaded>
  )
}

function one(job: JobItem | null): JobItem[] {
  return job === null ? [] : [job]
}

function Part({ title, jobs }: { title: string; jobs: readonly JobItem[] }) {
  if (jobs.length === 0) return null
  return (
    <div>
      <h3>{title}</h3>
      <JobTable rows={jobs.map((item) => ({ item, key: item.id, isGone: false }))} label={title} />
    </div>
  )
}
