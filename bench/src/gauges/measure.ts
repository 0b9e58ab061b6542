import { readFileSync } from 'node:fs'
import type { Client } from 'pg'
import { newGauges, openDatabase } from '../built.ts'
import type { Queryable } from '../built.ts'
import { median, percentile } from '../statistics.ts'
import type { Truth } from './fill.ts'

/** What a refresh cost, in ms: what the planner knew then, and of which statement how much. */
export interface Condition {
  name: string
  /** Of a leader that has just begun: it counts every group up to its cap. */
  first: number
  /** Of those after it. */
  p50: number
  p90: number
  worst: number
  refreshes: number
  parts: Part[]
  said: Said[]
}

export interface Part {
  name: string
  p50: number
  /** Of the processor, by refresh; which does not count what else the machine does. NaN where nobody can say. */
  cpu: number
}

/** What the gauges say of a group of jobs, and what there is. */
export interface Said {
  queue: string
  state: string
  jobs: number
  told: number
  isEstimate: boolean
}

const refreshes = 50

/** Refreshes again and again, on one connection. Times are of whoever sends a statement, to the last row of its answer. */
export async function measure(
  db: Client,
  url: string,
  { name, truth }: { name: string; truth: Truth },
): Promise<Condition> {
  const connection = await openDatabase(url)
  try {
    const pid = await backendOf(connection)
    const parts = new Map<string, { wall: number[]; cpu: number }>()
    let tookMs = 0
    const timed: Queryable = {
      schema: connection.schema,
      query: async (text, values) => {
        const [since, cpuBefore] = [performance.now(), cpuOf(pid)]
        const answer = await connection.query(text, values)
        const wall = performance.now() - since
        tookMs += wall
        const part = parts.get(nameOf(text)) ?? { wall: [], cpu: 0 }
        part.wall.push(wall)
        part.cpu += cpuOf(pid) - cpuBefore
        parts.set(nameOf(text), part)
        return answer
      },
    }
    const gauges = await newGauges()
    const refresh = async (): Promise<number> => {
      tookMs = 0
      await gauges.refresh(timed)
      return tookMs
    }
    const first = await refresh()
    parts.clear()
    const took: number[] = []
    for (let n = 0; n < refreshes; n++) took.push(await refresh())
    return {
      name,
      first,
      refreshes,
      p50: median(took),
      p90: percentile(took, 0.9),
      worst: Math.max(...took),
      parts: [...parts].map(([part, { wall, cpu }]) => ({
        name: part,
        p50: median(wall),
        cpu: cpu / refreshes,
      })),
      said: await saidOf(db, truth),
    }
  } finally {
    await connection.close()
  }
}

/** `/* stats/write/gauge-probe.sql … ` is what each statement begins with. */
function nameOf(text: string): string {
  return /^\/\* (\S+)/.exec(text)?.[1] ?? 'other'
}

async function backendOf(db: Queryable): Promise<number> {
  const [row] = (await db.query('select pg_backend_pid() as pid', [])) as { pid: number }[]
  return row?.pid ?? 0
}

/** What the server's process has used of the processor so far, in ms, in steps of ten. */
function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

async function saidOf(db: Client, truth: Truth): Promise<Said[]> {
  const { rows } = await db.query<Record<string, string> & { estimated: string[] }>(
    'select queue, ready, scheduled, retrying, waiting, estimated from stint.queue_gauge',
  )
  const told = new Map(rows.map((row) => [row.queue, row]))
  return Object.entries(truth).flatMap(([queue, states]) =>
    Object.entries(states).map(([state, jobs]) => {
      const row = told.get(queue)
      const isEstimate = row?.estimated.includes(state) ?? false
      return { queue, state, jobs, told: Number(row?.[state] ?? 0), isEstimate }
    }),
  )
}
