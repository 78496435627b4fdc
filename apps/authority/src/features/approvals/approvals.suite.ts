import { randomUUID } from 'node:crypto'
import { approvalStatementForm, asJson, signForm, writeInstant } from '@chancery/protocol'
import type { ApprovalStatement, JsonObject, Signer } from '@chancery/protocol'
import { ManualClock, accepted, enroll, newNodeCaller, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestAuthorityOptions, TestResponse } from '@chancery/testkit'

/** Members of a statement that a test replaces, and who signs it. */
export type StatementChanges = Partial<ApprovalStatement> & { readonly signer?: Signer }

/** An authority whose policies may hold requests. */
export interface Holding {
  readonly na: TestAuthority
  readonly clock: ManualClock
  /** Publishes and activates a policy for a new capability. Returns it. */
  rule(gates: JsonObject | readonly JsonObject[]): Promise<string>
  /** A node with an attestation for the capability. */
  agent(capability: string, name?: string): Promise<Agent>
  attest(members: JsonObject): Promise<JsonObject>
  /** One approval, as operators see it. */
  show(id: string): Promise<JsonObject>
  /** Signs a statement of an operator and sends it. */
  state(id: string, as: string, changes?: StatementChanges): Promise<TestResponse>
  statement(id: string, as: string, changes?: StatementChanges): Promise<ApprovalStatement>
  /** Entries of an approval, as event and id of the decision. */
  events(id: string): Promise<readonly JsonObject[]>
}

export interface Agent {
  readonly node: NodeCaller
  readonly subject: string
  send(parameters: JsonObject, members?: JsonObject): Promise<JsonObject>
  /** Sends a request that is held, and returns the id of its approval. */
  hold(parameters: JsonObject, members?: JsonObject): Promise<string>
  post(path: string, action: string, members: JsonObject): Promise<TestResponse>
}

let last = 0
const fresh = (name: string): string => `${name}${(last += 1)}`

export const approvalGate = (config: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  gate_id: 'approve',
  gate_type: 'approval.v1',
  order: 50,
  config: { title: 'A payment', approvers: [{ kind: 'operators', count: 1 }], ...config },
  ...more,
})

export const HOLDING_OPERATORS = { privileged: 'privileged', standard: 'standard', second: 'privileged' } as const

const SETTINGS = {
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  NA_CLOCK_CHECK: 'off',
  NA_GENESIS_WINDOW: 'warn',
  NA_NODE_DECISIONS: 'partners',
  NA_FOREIGN_FEED_MAX_AGE_SECONDS: '0',
  NA_RATE_LIMIT_APPROVAL_PER_MINUTE: '100000',
}

export async function openHolding(options: TestAuthorityOptions = {}): Promise<Holding> {
  const clock = options.clock instanceof ManualClock ? options.clock : new ManualClock('2026-01-02T03:04:05.678Z')
  const settings = { ...SETTINGS, ...options.settings }
  const na = await startTestAuthority({ operators: HOLDING_OPERATORS, ...options, clock, settings })
  const audience = na.genesis.network_authority.public_key
  const operator = (path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
    na
      .as('privileged')('POST', path, body)
      .then((answer) => accepted(answer, status))
  const attest: Holding['attest'] = (members) =>
    operator('/admin/attestations', { roles: ['role:client'], validity_hours: 1000, ...members }, 201)
  const show: Holding['show'] = async (id) =>
    accepted(await na.as('standard')('GET', `/admin/approvals/${id}`))['approval'] as JsonObject
  const signerOf = (as: string): Signer => {
    const signer = na.signers[as]
    if (signer === undefined) throw new Error(`no operator ${as}`)
    return signer
  }
  const statement: Holding['statement'] = async (id, as, { signer = signerOf(as), ...changes } = {}) => {
    const { approval_request_digest } = (await show(id)) as unknown as ApprovalStatement
    const draft: ApprovalStatement = {
      type: 'chancery.approval-statement.v1',
      statement_id: randomUUID(),
      approval_id: id,
      approval_request_digest,
      verdict: 'approve',
      approver: { kind: 'operator', id: signerOf(as).keyId, sovereign_id: na.core.network.name },
      public_key: signer.publicKey,
      stated_at: writeInstant(clock.now()),
      reason: null,
      signature: null,
      ...changes,
    }
    return signForm(approvalStatementForm, draft, signer, draft.approver.id)
  }
  const agent: Holding['agent'] = async (capability, name = fresh('agent-')) => {
    const node = await newNodeCaller(na.url, name, clock)
    const { cert_id } = await enroll(na, node, { roles: ['role:client'] })
    const claims = { capabilities: [capability] }
    const { attestation_id = null } = await attest({ subject_id: name, subject_public_key: node.key, claims })
    const send: Agent['send'] = async (request_parameters, members = {}) => {
      const context = { request_parameters }
      const body = { cert_id, attestation_id, requested_capability: capability, context, ...members }
      const action = { action: 'boundary-request', audience }
      return accepted(await node.post('/boundary/request', { ...action, ...body }), 201)
    }
    return {
      node,
      subject: name,
      send,
      hold: async (parameters, members) => {
        const { approval } = await send(parameters, members)
        if (approval === undefined) throw new Error('the request was not held')
        return String((approval as JsonObject)['approval_id'])
      },
      post: (path, action, members) => node.post(path, { action, audience, ...members }),
    }
  }
  return {
    na,
    clock,
    attest,
    agent,
    show,
    statement,
    async rule(gates) {
      const capability = fresh('pay.cap')
      const policy_id = fresh('policy-')
      const window = { valid_from: '2025-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' }
      const selector = { capabilities: [capability] }
      await operator('/admin/boundary-policies', { policy_id, ...window, selector, gates: [gates].flat() }, 201)
      await operator(`/admin/boundary-policies/${policy_id}/activate`, { version: 1 })
      return capability
    },
    async state(id, as, changes) {
      const signed = await statement(id, as, changes)
      return na.as(as)('POST', `/admin/approvals/${id}/${signed.verdict}`, { statement: asJson(signed) })
    },
    async events(id) {
      const text = (await na.as('standard')('GET', '/admin/evidence/export')).text
      const lines = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { entry: JsonObject; payload: JsonObject })
      return lines.flatMap(({ payload }) => (payload['approval_id'] === id && 'event' in payload ? [payload] : []))
    },
  }
}

/** Detail of the step that asks a person. */
export function detailOf(answer: JsonObject): string {
  const { gate_results } = answer['decision'] as unknown as { gate_results: { detail: string }[] }
  return gate_results.map(({ detail }) => detail).find((detail) => detail.includes('approv')) ?? ''
}

export const isAllowed = (answer: JsonObject): boolean => (answer['decision'] as JsonObject)['authorized'] === true
