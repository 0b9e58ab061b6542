import { readFileSync } from 'node:fs'
import type { Client } from 'pg'
import { newGauges, openDatabase } from '../built.ts'
import type { Queryable } from '../built.ts'
import { median, percentile } from '../statistics.ts'
import type { Truth } from './fill.ts'

/** The cost of a refresh in ms, by what the planner knew, and by statement. */
export interface Condition {
  name: string
  /** The first refresh of a new leader, which counts every group up to its cap. */
  first: number
  /** The refreshes after it. */
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
  /** CPU time by refresh, without other load on the machine. NaN where the system does not report it. */
  cpu: number
}

/** The count of the gauges for a group of jobs, and the real one. */
export interface Said {
  queue: string
  state: string
  jobs: number
  told: number
  isEstimate: boolean
}

const refreshes = 50

/** Refreshes again and again on one connection. Times are measured at the client, up to the last row of the answer. */
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

/** Each statement begins with `/* stats/write/gauge-probe.sql … `. */
function nameOf(text: string): string {
  return /^\/\* (\S+)/.exec(text)?.[1] ?? 'other'
}

async function backendOf(db: Queryable): Promise<number> {
  const [row] = (await db.query('select pg_backend_pid() as pid', [])) as { pid: number }[]
  return row?.pid ?? 0
}

/** The CPU time of the server process so far in ms, in steps of ten. */
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
