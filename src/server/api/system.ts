import { z } from '@hono/zod-openapi'
import { Id, pageOf, Reason, Role, Time } from './common.ts'

export const WorkerItem = z
  .object({
    id: Id,
    host: z.string().nullable(),
    pid: z.int().nullable(),
    version: z.string().nullable().describe("The version of the app's code."),
    stintVersion: z.string().nullable(),
    queues: z.record(z.string(), z.int()).describe('Slots by queue.'),
    kinds: z.array(z.string()),
    running: z.int(),
    rssBytes: z.number().nullable(),
    startedAt: Time,
    renewedAt: Time,
    leaseUntil: Time,
    status: z.enum(['active', 'late', 'lost']),
    death: z.string().nullable().describe('How its process ended, if known.'),
    wanted: z
      .object({ state: z.enum(['paused', 'draining']), reason: z.string().nullable() })
      .nullable()
      .describe('What a person asked it to do; null: to work as usual.'),
    isLeader: z.boolean(),
  })
  .openapi('WorkerItem')
export type WorkerItem = z.infer<typeof WorkerItem>

export const WorkerOrderBody = z.strictObject({ reason: Reason.optional() }).openapi('WorkerOrderBody')

export const WorkerList = z
  .object({
    items: z.array(WorkerItem).describe('Up to 500 workers, with those lost in the last hour.'),
    leader: z.object({ workerId: Id, since: Time, until: Time }).nullable(),
    services: z.array(
      z.object({
        name: z.string(),
        lastOkAt: Time.nullable(),
        tookMs: z.number().nullable(),
        lastError: z.string().nullable(),
        lastErrorAt: Time.nullable(),
      }),
    ),
    asOf: Time,
  })
  .openapi('WorkerList')
export type WorkerList = z.infer<typeof WorkerList>

/** A running job with its lease. */
export const LeaseItem = z
  .object({
    jobId: Id,
    kind: z.string(),
    queue: z.string(),
    key: z.string().nullable(),
    workerId: Id,
    epoch: z.int(),
    attempt: z.int(),
    startedAt: Time.nullable(),
    leaseUntil: Time.nullable(),
    progress: z.number().nullable(),
    cancelRequestedAt: Time.nullable(),
  })
  .openapi('LeaseItem')
export type LeaseItem = z.infer<typeof LeaseItem>
export const LeaseList = z
  .object({
    items: z.array(LeaseItem).describe('Up to 200 leases, sorted by `leaseUntil`.'),
    more: z.boolean(),
    asOf: Time,
  })
  .openapi('LeaseList')
export type LeaseList = z.infer<typeof LeaseList>

export const Finding = z
  .object({
    check: z.string(),
    level: z.enum(['ok', 'warn', 'fail', 'unknown']),
    title: z.string(),
    detail: z.string(),
    fix: z.string().nullable(),
  })
  .openapi('Finding')
export type Finding = z.infer<typeof Finding>

export const SystemReport = z
  .object({
    stintVersion: z.string(),
    schemaVersion: z.int(),
    pendingMigrations: z.array(z.string()),
    postgresVersion: z.string().nullable(),
    findings: z.array(Finding),
    findingsAsOf: Time.nullable().describe(
      'When the doctor made the findings, at most some seconds ago; null while its first run lasts and `findings` is empty.',
    ),
    console: z.object({
      connections: z.int(),
      maxConnections: z.int(),
      viewers: z.int(),
      refusedByLimit: z.int().describe('Requests that the console has refused with 503 since it started.'),
    }),
    asOf: Time,
  })
  .openapi('SystemReport')
export type SystemReport = z.infer<typeof SystemReport>

export const KindItem = z
  .object({
    kind: z.string(),
    queue: z.string(),
    version: z.int(),
    jsonSchema: z
      .unknown()
      .nullable()
      .describe('JSON Schema of the input; null if the schema library cannot make one.'),
  })
  .openapi('KindItem')
export const KindList = z.object({ items: z.array(KindItem), asOf: Time }).openapi('KindList')
export type KindList = z.infer<typeof KindList>

export const Me = z
  .object({
    actor: z.string(),
    role: Role,
    can: z.array(z.string()).describe('The allowed actions.'),
    environment: z.string().nullable(),
    readOnly: z.boolean(),
    insecure: z
      .boolean()
      .describe('The console has no sign-in: every caller is an admin. Every screen shows a warning.'),
    basePath: z.string(),
    stintVersion: z.string(),
    asOf: Time,
  })
  .openapi('Me')
export type Me = z.infer<typeof Me>

export const AuditItem = z
  .object({
    id: Id,
    at: Time,
    login: z.string().nullable().describe('The database login, independent of the actor.'),
    actor: z.string(),
    role: z.string().nullable(),
    origin: z.enum(['api', 'dashboard', 'cli', 'code']),
    action: z.string().openapi({ example: 'job.replay' }),
    target: z.string().describe('A job, schedule, queue, error group or operation.'),
    outcome: z.enum(['done', 'refused']),
    reason: z.string().nullable(),
    before: z.unknown(),
    after: z.unknown(),
    operationId: Id.nullable(),
    requestId: z.string().nullable(),
  })
  .openapi('AuditItem')
export type AuditItem = z.infer<typeof AuditItem>
export const AuditPage = pageOf(AuditItem).openapi('AuditPage')
export type AuditPage = z.infer<typeof AuditPage>
