import type { BoundaryDecision, JsonObject } from '@chancery/protocol'
import {
  boundaryDecisionForm,
  contextDigest,
  contextRecordForm,
  readReceived,
  verifyBoundaryDecision,
} from '@chancery/protocol'
import { type GatewayResponse, accepted, testClient } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents, expectRefusal } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from './deciding-gateway.suite.ts'

const other = testClient('other', ['TEST-NET'], { decisions: true })

let setup: DecidingGateway
beforeAll(async () => {
  setup = await startDecidingGateway({ kind: 'operator', clients: [other], state: 'new' })
})
beforeEach(() => {
  setup.change = (answer) => answer
  setup.asked.length = 0
})
afterAll(() => setup.stop())

const resource = { type: 'printer', id: 'p1', properties: { copies: 2 } }
function question(attestation: string, members: JsonObject = {}): JsonObject {
  return { subject: { type: 'attestation', id: attestation }, action: { name: 'print' }, resource, ...members }
}

function decisionOf({ body }: GatewayResponse): BoundaryDecision {
  const { chancery } = body['context'] as { chancery: { decision: JsonObject; valid_until: string } }
  expect(chancery.valid_until).toBe(chancery.decision['decision_valid_until'])
  return chancery.decision as unknown as BoundaryDecision
}

describe('POST /access/v1/evaluation', () => {
  it('allows with the signed decision, echoes the request id and ignores unknown members', async () => {
    const asked = question(await setup.attest(), { context: { region: 'eu' }, extra: { more: 1 } })
    const answer = await setup.ask(asked, { headers: { 'x-request-id': 'mine/1~' } })
    expect([answer.status, answer.body['decision'], answer.headers['x-request-id']]).toEqual([200, true, 'mine/1~'])
    const own = answer.headers['chancery-request-id']
    expect((await auditEvents(setup.gateway)).map(({ request_id }) => request_id)).toContain(own)
    expect((await setup.ask(asked)).headers).not.toHaveProperty('chancery-request-id')
    const received = readReceived(boundaryDecisionForm, decisionOf(answer) as unknown as JsonObject)
    const keys = [setup.na.genesis.network_authority.public_key]
    expect(await verifyBoundaryDecision(received, { keys, now: setup.clock.now() })).toMatchObject({ accepted: true })
    expect(setup.asked[0]).toMatchObject({
      requested_capability: 'print',
      context: { request_parameters: { resource }, attributes: { region: 'eu' } },
    })
    const proof = await setup.ask({ ...asked, context: { region: 'eu', chancery: { justification: true } } })
    expect(proof.body['context']).toHaveProperty(['chancery', 'justification_proof', 'decision_id'])
  })

  it('gives the context record whose digest the signed decision has, allowed, denied and reused', async () => {
    const id = await setup.attest()
    for (const name of ['print', 'erase', 'print']) {
      const answer = await setup.ask(question(id, { action: { name }, context: { region: 'eu' } }))
      const { chancery } = answer.body['context'] as { chancery: { context_record: JsonObject } }
      const { record } = readReceived(contextRecordForm, chancery.context_record)
      expect(contextDigest(record)).toBe(decisionOf(answer).policy_binding?.context_digest)
      expect(record).toMatchObject({ requested_capability: name, attributes: { region: 'eu' } })
      expect(record.request_parameters).toMatchObject({ resource })
    }
  })

  it('passes a signed denial on, and denies a subject that no table names', async () => {
    const denied = await setup.ask(question(await setup.attest(), { action: { name: 'erase' } }))
    const decision = decisionOf(denied)
    expect([denied.status, denied.body['decision'], decision.authorized]).toEqual([200, false, false])
    expect(denied.body['context']).toMatchObject({ reason: decision.denial_reason })
    const unknown = await setup.ask(question('x', { subject: { type: 'user', id: 'alice' } }))
    expect(unknown.body).toEqual({ decision: false, context: { reason: 'subject_unknown' } })
  })

  it('reuses a decision for the identical question of one client until its end, not after', async () => {
    const id = await setup.attest()
    const first = decisionOf(await setup.ask(question(id)))
    expect(decisionOf(await setup.ask(question(id))).decision_id).toBe(first.decision_id)
    expect(setup.asked).toHaveLength(1)
    expect(decisionOf(await setup.ask(question(id), { token: other.token })).decision_id).not.toBe(first.decision_id)
    const differs = await setup.ask(question(id, { resource: { ...resource, id: 'p2' } }))
    expect(decisionOf(differs).decision_id).not.toBe(first.decision_id)
    const events = await auditEvents(setup.gateway)
    const audited = events.flatMap((event) => (event['context'] as JsonObject | undefined)?.['decisions'] ?? [])
    expect(audited).toContainEqual({ decision_id: first.decision_id, authorized: true, reused: true })
    expect(events.at(-1)?.['context']).toMatchObject({ network: 'TEST-NET' })
    // Revoked in between: the decision ends with its own time, and the next one is a denial.
    accepted(await setup.na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' }))
    setup.clock.advance(301)
    const later = await setup.ask(question(id))
    expect([later.body['decision'], decisionOf(later).denial_reason]).toEqual([false, 'attestation_revoked'])
  })

  it('uses no earlier decision while the revocation list is too old', async () => {
    setup.clock.advance(560)
    const id = await setup.attest()
    expect((await setup.ask(question(id))).body['decision']).toBe(true)
    setup.clock.advance(200)
    expectRefusal(await setup.ask(question(id)), 503, 'unavailable', 'revocation_list')
  })
})
