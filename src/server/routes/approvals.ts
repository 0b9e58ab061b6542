import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Approval as StoredApproval } from '../../flows/waiting/approvals.ts'
import { readLink } from '../../node/approval/link.ts'
import type { ApprovalLink } from '../../node/approval/link.ts'
import { Approval } from '../api/approval.ts'
import { wantsPage } from '../assets.ts'
import { SignInAttempts } from '../auth/sign-in-attempts.ts'
import type { ConsoleParts, Env, Routes } from '../context.ts'
import { Html, html, page } from '../http/page.ts'
import { HttpProblem, toProblem } from '../http/problem.ts'
import { problems } from '../http/route-parts.ts'

/*
 * The pages of approval links. They need no sign-in: the link is the right to give one answer to one job, once, until it
 * expires. So they are safe from other sites by design: no cookie and no place in a network gives a right here, and a page of
 * another site that can name the address could use it without a browser of ours too.
 *
 * GET never acts: mail programs and scanners open every link they see. The button sends a POST, which sends the signal with
 * the id that all links of one question share as its key: the database lets one of them through.
 */

const Token = z.object({ token: z.string() })

const asked = {
  description:
    'What is asked, and the answer that counts if there is one. A page where `Accept` has text/html.',
  content: { 'application/json': { schema: Approval } },
} as const

const show = createRoute({
  method: 'get',
  path: '/approvals/{token}',
  tags: ['Approvals'],
  summary: 'What an approval link asks for; changes nothing',
  security: [],
  request: { params: Token },
  responses: { 200: asked, ...problems(404, 409, 410, 429, 503) },
})

const answer = createRoute({
  method: 'post',
  path: '/approvals/{token}',
  tags: ['Approvals'],
  summary: 'Give the answer of an approval link',
  security: [],
  request: { params: Token },
  responses: { 200: asked, ...problems(403, 404, 409, 410, 429, 503) },
})

export const approvalRoutes: Routes = (app, parts) => {
  const attempts = new SignInAttempts()
  /**
   * A link is checked in memory, before its limit and before the database. Only wrong ones are counted, as failed sign-ins
   * are, so that no one can lock out others.
   */
  const linkOf = (c: Context<Env>, token: string): ApprovalLink => {
    const link = readLink(token, parts.approvals.secrets)
    if (link !== undefined) return link
    const address = c.env.address ?? ''
    const wait = attempts.waitFor(address)
    if (wait > 0) throw tooMany(wait)
    attempts.failed(address)
    throw unknownLink(parts.approvals.secrets.length > 0)
  }

  app.openapi(show, (c) =>
    answering(c, parts, async () => {
      const link = linkOf(c, c.req.valid('param').token)
      const found = await open(link, parts)
      if (!wantsPage(c.req.raw)) return c.json(answerOf(link, found), 200)
      // The type of an answer knows JSON alone.
      return questionPage(link, found, parts) as never
    }),
  )

  app.openapi(answer, (c) =>
    answering(c, parts, async () => {
      const link = linkOf(c, c.req.valid('param').token)
      const before = await open(link, parts)
      if (before.given !== undefined) throw answered(before.given)
      const isPage = wantsPage(c.req.raw)
      // Who holds the link is not known: the audit says by which right it was done.
      const operator = parts.stint.as({
        actor: 'approval link',
        origin: isPage ? 'dashboard' : 'api',
        requestId: c.get('requestId'),
      })
      const sent = await operator.signal(link.jobId, link.signal, before.asked?.answers[link.answer], {
        key: link.id,
        reason: `answered '${link.answer}'`,
      })
      const after = await parts.stint.consoleStore.approval(link)
      // Another link of the question was used in between. A job that has taken the answer may have ended already.
      const given = sent.duplicate ? after.given : { answer: link.answer, at: after.given?.at ?? new Date() }
      if (sent.duplicate) throw answered(given)
      if (!isPage) return c.json(answerOf(link, { ...before, given }), 200)
      return page({
        basePath: parts.basePath,
        title: 'Thank you',
        body: html`<p>Your answer is <strong>${link.answer}</strong>. You can close this page.</p>`,
      }) as never
    }),
  )
}

/** Answers with a page if a browser asks for one, also if the request fails. */
async function answering<Answer extends Response>(
  c: Context<Env>,
  { basePath }: ConsoleParts,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    const problem = toProblem(error)
    if (!wantsPage(c.req.raw) || problem.status === 500) throw error
    const { title, detail, hint, status, headers } = problem
    const more = hint === undefined ? new Html('') : html`<p>${hint}</p>`
    return page({
      basePath,
      title,
      body: html`<p>${detail}</p>
        ${more}`,
      status,
      headers,
    }) as Answer
  }
}

/** The question of a link; throws if it is not open and has no answer. */
async function open(link: ApprovalLink, { stint }: ConsoleParts): Promise<StoredApproval> {
  const found = await stint.consoleStore.approval(link)
  if (found.given !== undefined) return found
  if (found.isExpired) throw expired()
  if (found.kind === undefined) throw ended()
  if (found.asked === undefined || !Object.hasOwn(found.asked.answers, link.answer)) throw withdrawn()
  return found
}

function answerOf(link: ApprovalLink, { kind, asked, given }: StoredApproval): Approval {
  return {
    jobId: link.jobId,
    kind: kind ?? null,
    signal: link.signal,
    about: asked?.about ?? null,
    answer: link.answer,
    expiresAt: new Date(link.expiresAt).toISOString(),
    given: given === undefined ? null : { answer: given.answer, at: given.at.toISOString() },
    asOf: new Date().toISOString(),
  }
}

function questionPage(
  link: ApprovalLink,
  { kind = '', asked, given }: StoredApproval,
  { basePath, about }: ConsoleParts,
): Response {
  const button = about.readOnly
    ? html`<p>This console is read-only: it takes no answers.</p>`
    : html`<form method="post"><button type="submit">Answer “${link.answer}”</button></form>`
  const body = html`<p>${asked?.about ?? `A job of the kind '${kind}' asks.`}</p>
    <dl>
      <dt>Your answer</dt>
      <dd><strong>${link.answer}</strong></dd>
      <dt>Asked by</dt>
      <dd><code>${kind}</code>, job <code>${link.jobId}</code></dd>
      <dt>Link works until</dt>
      <dd>${timeText(new Date(link.expiresAt))}</dd>
    </dl>
    ${given === undefined ? button : html`<p role="status">${givenText(given)}</p>`}`
  return page({ basePath, title: link.signal, body })
}

function givenText(given: StoredApproval['given']): string {
  if (given === undefined) return 'This question is answered already.'
  const what = given.answer === null ? '' : ` with “${given.answer}”`
  return `Already answered${what} on ${timeText(given.at)}. The first answer counts.`
}

function timeText(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function answered(given: StoredApproval['given']): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'already-answered',
    title: 'Already answered',
    detail: givenText(given),
  })
}

function unknownLink(hasSecrets: boolean): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'approval-unknown',
    title: 'This link does not work',
    detail: 'The link is not complete, or it was changed. Open it again from the message that you got.',
    ...(hasSecrets
      ? {}
      : { hint: 'This console has no keys for links: set `approvals.secrets` or STINT_APPROVAL_SECRETS.' }),
  })
}

function expired(): HttpProblem {
  return new HttpProblem({
    status: 410,
    code: 'approval-expired',
    title: 'This link has expired',
    detail: 'The time for an answer is over. Nothing was done.',
  })
}

function withdrawn(): HttpProblem {
  return new HttpProblem({
    status: 410,
    code: 'approval-withdrawn',
    title: 'This link is out of date',
    detail: 'The job was started anew since and does not ask this any more. Nothing was done.',
  })
}

function ended(): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'job-ended',
    title: 'The job has ended',
    detail: 'No answer is needed any more: the job has ended, perhaps after an answer. Nothing was done.',
  })
}

function tooMany(seconds: number): HttpProblem {
  return new HttpProblem({
    status: 429,
    code: 'too-many-attempts',
    title: 'Too many wrong links',
    detail: `Too many links that do not work came from your address. Wait ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}
