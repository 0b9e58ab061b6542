import { z } from '@hono/zod-openapi'
import { Id, Name, pageOf, Reason, State, Time } from './common.ts'
import { flowStates, flowTypes } from '../../flows/graph/read.ts'

export const FlowState = z
  .enum(flowStates)
  .describe('`held`: what waits for a dead job waits for its replay, and nothing else can start.')

const Counts = z.object({
  total: z.number(),
  remaining: z.number().describe('Jobs that have not ended.'),
  succeeded: z.number(),
  dead: z.number(),
  cancelled: z.number(),
})

const About = z.object({
  id: Id,
  type: z.enum(flowTypes).describe('`children`: the jobs that the handler of the job `parentId` made.'),
  name: z.string(),
  state: FlowState,
  parentId: Id.nullable(),
  uniqueKey: z.string().nullable(),
  createdAt: Time.nullable(),
  endedAt: Time.nullable(),
  cancelReason: z.string().nullable(),
  broken: z.array(z.string()).describe('What is wrong with its rows; another program wrote them.'),
})

export const FlowItem = About.extend(Counts.shape).openapi('FlowItem')
export type FlowItem = z.infer<typeof FlowItem>

export const FlowList = pageOf(FlowItem).openapi('FlowList')
export type FlowList = z.infer<typeof FlowList>

export const edgeConditions = ['succeeded', 'ended', 'dead'] as const

const Node = Counts.extend({
  name: z.string(),
  state: z
    .enum(['waiting', 'open', 'succeeded', 'dead', 'cancelled'])
    .describe('`waiting`: its jobs may not start yet; `open`: they run or may; `dead`: one of them is.'),
  after: z
    .array(z.object({ node: z.int(), when: z.enum(edgeConditions) }))
    .describe('The indexes of the nodes that it waits for, and for what.'),
  needs: z.int().describe('How many of these must still happen before its jobs may start.'),
})

export const FlowDetail = FlowItem.extend({
  nodes: z.array(Node.openapi('FlowNode')),
  heldJobs: z.number().describe('Jobs that wait, directly or not, for a job that is dead.'),
  asOf: Time,
}).openapi('FlowDetail')
export type FlowDetail = z.infer<typeof FlowDetail>

export const FlowMember = z
  .object({
    id: Id,
    state: State,
    queue: z.string(),
    kind: z.string(),
    key: z.string().nullable(),
    attempt: z.int(),
    createdAt: Time.nullable(),
    startedAt: Time.nullable().describe('When its last attempt began.'),
    finishedAt: Time.nullable(),
    waitsFor: z.string().nullable().describe('What a waiting job waits for.'),
  })
  .openapi('FlowMember')
export type FlowMember = z.infer<typeof FlowMember>

export const FlowGraph = FlowDetail.extend({
  nodes: z.array(
    Node.extend({
      jobs: z
        .array(FlowMember)
        .nullable()
        .describe(
          'Null for a node of more than 50 jobs, and once the graph has 500: `where=flow:{id}` lists them.',
        ),
    }).openapi('FlowGraphNode'),
  ),
}).openapi('FlowGraph')
export type FlowGraph = z.infer<typeof FlowGraph>

export const CancelFlowBody = z
  .strictObject({
    expect: z
      .strictObject({ state: FlowState })
      .optional()
      .describe('The state that you saw: 409 if the flow is in another one.'),
    reason: Reason.optional(),
  })
  .openapi('CancelFlowBody')

export const ReplayFlowBody = z.strictObject({ reason: Reason.optional() }).openapi('ReplayFlowBody')

export const RerunFlowBody = z
  .strictObject({ from: Name.describe('The name of the node to begin at.'), reason: Reason.optional() })
  .openapi('RerunFlowBody')

export const ReplayedFlow = FlowDetail.extend({
  replayed: z.int().describe('Jobs that are ready again, at most 10,000: with more, send it again.'),
}).openapi('ReplayedFlow')
