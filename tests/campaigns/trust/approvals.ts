import { randomUUID } from 'node:crypto'
import { approvalStatementForm, asJson, signForm, writeInstant } from '@chancery/protocol'
import type { ApprovalStatement, JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, enroll, newNodeCaller, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary =
  'races of approve, deny, expire, cancel and use, swapped parameters, replayed statements: one end, at most one use'
export const defaultCount = 5000

const CAPABILITY = 'payment.send'
const SHOWN = 10
const ENDS = ['denied', 'expired', 'cancelled', 'used']
const OPERATORS = { privileged: 'privileged', standard: 'standard', second: 'privileged' } as const
/** An agent has few open approvals, so each gets so many cases. */
const CASES_PER_AGENT = 200

interface Agent {
  readonly node: NodeCaller
  readonly cert_id: string
  readonly attestation_id: string
}

/** One request that is held, and what a replayed statement is taken from. */
interface Held {
  readonly id: string
  readonly digest: string
  readonly parameters: JsonObject
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const clock = new ManualClock('2026-01-02T03:04:05Z')
  const settings = {
    EVIDENCE_STORE: 'on',
    NA_ANCHOR_INTERVAL_SECONDS: '0',
    NA_CLOCK_CHECK: 'off',
    NA_GENESIS_WINDOW: 'warn',
    NA_NODE_DECISIONS: 'own',
    NA_APPROVAL_DENY_HOLD_SECONDS: '0',
    NA_RATE_LIMIT_APPROVAL_PER_MINUTE: '1000000',
    NA_RATE_LIMIT_DECISION_PER_MINUTE: '1000000',
    NA_DECISION_BYTES_PER_KEY_PER_DAY: '1000000000000',
  }
  const na = await startTestAuthority({ operators: OPERATORS, clock, settings })
  const seen = new Map<string, number>()
  let violations = 0
  try {
    await publishPolicy(na)
    let agent = await newAgent(na, clock)
    let former: Held | undefined
    for (let at = 0; at < count; at += 1) {
      if (at > 0 && at % CASES_PER_AGENT === 0) agent = await newAgent(na, clock)
      const tried = await tryOne({ na, clock, agent, random, former }, { n: at, amount: '7.00' })
      former = tried.held
      seen.set(tried.state, (seen.get(tried.state) ?? 0) + 1)
      violations += tried.problems.length
      for (const problem of tried.problems.slice(0, SHOWN)) log(`case ${at}: ${problem}`)
    }
    const report = accepted(await na.as('standard')('GET', '/admin/evidence/verify')) as unknown as {
      failures: unknown[]
    }
    violations += report.failures.length
    log(`states: ${[...seen].map(([state, times]) => `${state} ${times}`).join(', ')}`)
  } finally {
    await na.stop()
  }
  return { cases: count, violations }
}

async function publishPolicy(na: TestAuthority): Promise<void> {
  const config = {
    title: 'A payment',
    approvers: [{ kind: 'operators', count: 1 }],
    expires_seconds: 60,
    use_within_seconds: 30,
  }
  const policy = {
    policy_id: 'payments',
    valid_from: '2025-01-01T00:00:00Z',
    valid_until: '2036-01-01T00:00:00Z',
    selector: { capabilities: [CAPABILITY] },
    gates: [{ gate_id: 'approve', gate_type: 'approval.v1', order: 1, config }],
  }
  accepted(await na.as('privileged')('POST', '/admin/boundary-policies', policy), 201)
  accepted(await na.as('privileged')('POST', '/admin/boundary-policies/payments/activate', { version: 1 }))
}

async function newAgent(na: TestAuthority, clock: ManualClock): Promise<Agent> {
  const node = await newNodeCaller(na.url, 'approvals', clock)
  const { cert_id } = await enroll(na, node, { roles: ['role:client'] })
  const body = {
    subject_id: node.key,
    subject_public_key: node.key,
    roles: ['role:client'],
    validity_hours: 20_000,
    claims: { capabilities: [CAPABILITY] },
  }
  const issued = accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
  return { node, cert_id, attestation_id: textOf(issued, 'attestation_id') }
}

interface Scene {
  readonly na: TestAuthority
  readonly clock: ManualClock
  readonly agent: Agent
  readonly random: Random
  readonly former: Held | undefined
}

const WAYS = ['use', 'swapped', 'approve', 'deny', 'replayed', 'cancel', 'withdraw'] as const
type Way = (typeof WAYS)[number]

interface Answered {
  readonly way: Way
  readonly answer: TestResponse
}

/** Holds a request, does several things to it at once, and compares all answers with what is stored. */
async function tryOne(scene: Scene, parameters: JsonObject) {
  const { na, clock, agent, random, former } = scene
  const first = accepted(await ask(scene, parameters), 201)
  const id = textOf(first['approval'] as JsonObject, 'approval_id')
  const shown = await show(na, id)
  const held: Held = { id, digest: textOf(shown, 'approval_request_digest'), parameters }
  if (random.chance(60)) accepted(await sendStatement(scene, held, 'privileged', 'approve'))
  if (random.chance(20)) clock.advance(random.pick([29, 30, 59, 60]))
  const ways: Readonly<Record<Way, () => Promise<TestResponse>>> = {
    use: () => ask(scene, parameters, id),
    swapped: () => ask(scene, { ...parameters, amount: '7.01' }, id),
    approve: () => sendStatement(scene, held, 'second', 'approve'),
    deny: () => sendStatement(scene, held, 'second', 'deny'),
    replayed: () => sendStatement(scene, { ...held, digest: former?.digest ?? '0'.repeat(64) }, 'second', 'approve'),
    cancel: () => na.as('privileged')('POST', `/admin/approvals/${id}/cancel`, { reason: 'race' }),
    withdraw: () => agent.node.post('/approvals/cancel', proof(na, 'approval-cancel', { approval_id: id })),
  }
  const names = Array.from({ length: 2 + random.below(5) }, () => random.pick(WAYS))
  const answers = await Promise.all(names.map(async (way): Promise<Answered> => ({ way, answer: await ways[way]() })))
  const end = textOf(await show(na, id), 'state')
  const problems = check(answers, end)
  // The place of an open one is needed by the next cases.
  if (!ENDS.includes(end))
    accepted(await na.as('privileged')('POST', `/admin/approvals/${id}/cancel`, { reason: 'done' }))
  return { held, state: end, problems: problems.map((problem) => `${problem} (${names.join(', ')}; ${end})`) }
}

function check(answers: readonly Answered[], end: string): readonly string[] {
  const problems: string[] = []
  const ok = (way: Way): number => answers.filter((each) => each.way === way && each.answer.status === 200).length
  const allowed = answers.filter(({ answer }) => isAllowed(answer))
  if (allowed.length > 1) problems.push('used twice')
  if (allowed.some(({ way }) => way !== 'use')) problems.push('other parameters were allowed')
  if ((allowed.length === 1) !== (end === 'used')) problems.push('the use and the state differ')
  if (ok('replayed') > 0) problems.push('a statement about another request counted')
  if (ok('deny') > 0 !== (end === 'denied')) problems.push('a denial and the state differ')
  if (ok('cancel') + ok('withdraw') > 1) problems.push('cancelled twice')
  if (ok('cancel') + ok('withdraw') > 0 !== (end === 'cancelled')) problems.push('a cancellation and the state differ')
  if (answers.some(({ answer }) => answer.status >= 500)) problems.push('an answer of 500 or more')
  return problems
}

function isAllowed({ status, text }: TestResponse): boolean {
  if (status !== 201) return false
  return (JSON.parse(text) as { decision: { authorized: boolean } }).decision.authorized
}

function textOf(object: JsonObject, name: string): string {
  const text = object[name]
  if (typeof text !== 'string') throw new TypeError(`${name} is no text`)
  return text
}

function proof(na: TestAuthority, action: string, members: JsonObject): JsonObject {
  return { action, audience: na.genesis.network_authority.public_key, ...members }
}

function ask({ na, agent }: Scene, request_parameters: JsonObject, approval_id?: string): Promise<TestResponse> {
  const { node, cert_id, attestation_id } = agent
  const named = approval_id === undefined ? {} : { approval_id }
  const asked = { cert_id, attestation_id, requested_capability: CAPABILITY, context: { request_parameters }, ...named }
  return node.post('/boundary/request', proof(na, 'boundary-request', asked))
}

async function show(na: TestAuthority, id: string): Promise<JsonObject> {
  return accepted(await na.as('standard')('GET', `/admin/approvals/${id}`))['approval'] as JsonObject
}

async function sendStatement(
  { na, clock }: Scene,
  { id, digest }: Held,
  as: keyof typeof OPERATORS,
  verdict: ApprovalStatement['verdict'],
): Promise<TestResponse> {
  const signer = na.signers[as]
  if (signer === undefined) throw new Error(`no operator ${as}`)
  const draft: ApprovalStatement = {
    type: 'chancery.approval-statement.v1',
    statement_id: randomUUID(),
    approval_id: id,
    approval_request_digest: digest,
    verdict,
    approver: { kind: 'operator', id: signer.keyId, sovereign_id: na.core.network.name },
    public_key: signer.publicKey,
    stated_at: writeInstant(clock.now()),
    reason: null,
    signature: null,
  }
  const statement = asJson(await signForm(approvalStatementForm, draft, signer, signer.keyId))
  return na.as(as)('POST', `/admin/approvals/${id}/${verdict}`, { statement })
}
