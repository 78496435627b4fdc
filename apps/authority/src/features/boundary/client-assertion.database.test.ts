import { seconds, signClientAssertion } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, enroll, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/**
 * Holds: a gateway that is a relay hands over the client assertion of a token request. It counts once for each
 * capability, and the answer says whether the decision was stored.
 */
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const AUDIENCE = 'https://gw.example'
const SETTINGS = { NA_CLOCK_CHECK: 'off', NA_NODE_DECISIONS: 'own', NA_DECISION_RELAY_ROLES: 'role:relay' }

describe.each(['on', 'off'])('POST /boundary/request with EVIDENCE_STORE=%s', (EVIDENCE_STORE) => {
  let na: TestAuthority
  let relay: { readonly node: NodeCaller; readonly certificate: JoinCertificate }
  let caller: { readonly node: NodeCaller; readonly certificate: JoinCertificate; readonly attestation_id: string }

  async function join(roles: readonly string[]) {
    const node = await newNodeCaller(na.url, 'assertion', clock)
    return { node, certificate: await enroll(na, node, { roles: [...roles] }) }
  }
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings: { ...SETTINGS, EVIDENCE_STORE } })
    relay = await join(['role:relay'])
    const joined = await join(['role:client'])
    const claims = { capabilities: ['ledger.read', 'ledger.append'] }
    const subject = { subject_id: 'agent-7', roles: ['role:client'], subject_public_key: joined.node.key, claims }
    const issued = accepted(await na.as('privileged')('POST', '/admin/attestations', subject), 201)
    caller = { ...joined, attestation_id: String(issued['attestation_id']) }
  })
  afterAll(() => na.stop())

  async function assertion(facts: { readonly now?: bigint; readonly certificate?: JoinCertificate } = {}) {
    const { certificate = caller.certificate, now = clock.now() } = facts
    const named = { audience: AUDIENCE, attestation: undefined, proofKey: undefined, jti: crypto.randomUUID() }
    return signClientAssertion({ ...named, certificate, now }, caller.node.signer)
  }
  const ask = (client_assertion: string, members: JsonObject = {}, proof: JsonObject = {}): Promise<TestResponse> =>
    relay.node.post('/boundary/request', {
      action: 'boundary-request',
      audience: na.genesis.network_authority.public_key,
      cert_id: relay.certificate.cert_id,
      attestation_id: caller.attestation_id,
      requested_capability: 'ledger.read',
      on_behalf_of: { kind: 'client_assertion', client_assertion, audience: AUDIENCE, ...proof },
      ...members,
    })
  const rejected = (answer: TestResponse): unknown => refused(answer, 422, 'caller_proof_rejected')['details']

  it('201: names caller, audience and relay, and says whether the decision was stored', async () => {
    const answer = accepted(await ask(await assertion()), 201)
    expect(answer['decision_stored']).toBe(EVIDENCE_STORE === 'on')
    expect((answer['context'] as JsonObject)['attributes']).toEqual({
      chancery_request: {
        asked_by: 'relay',
        node_public_key: caller.node.key,
        cert_id: caller.certificate.cert_id,
        audience: AUDIENCE,
        relayed_by: relay.certificate.cert_id,
      },
    })
  })

  it('201 once for each capability, also at the same moment', async () => {
    const text = await assertion()
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(text)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422])
    accepted(await ask(text, { requested_capability: 'ledger.append' }), 201)
    expect(rejected(await ask(text))).toEqual({ reason: 'replayed' })
  })

  it('422: another member, a late assertion, and a certificate that is not of the network', async () => {
    expect(rejected(await ask(await assertion(), {}, { more: 'x' }))).toEqual({ reason: 'malformed' })
    expect(rejected(await ask(await assertion(), {}, { audience: 'https://other.example' }))).toEqual({
      reason: 'malformed',
    })
    const late = await assertion({ now: clock.now() - seconds(121) })
    expect(rejected(await ask(late))).toEqual({ reason: 'stale' })
    const unknown = { ...caller.certificate, cert_id: 'unknown' }
    expect(rejected(await ask(await assertion({ certificate: unknown })))).toEqual({ reason: 'certificate_untrusted' })
  })
})
