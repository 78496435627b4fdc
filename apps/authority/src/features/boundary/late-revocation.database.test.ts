import { type JsonObject, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority | undefined
afterEach(async () => {
  vi.restoreAllMocks()
  await na?.stop()
  na = undefined
})

const privileged = async (path: string, body: JsonObject = {}, status = 200): Promise<JsonObject> =>
  accepted(await authority().as('privileged')('POST', path, body), status)

function authority(): TestAuthority {
  if (na === undefined) throw new Error('no authority')
  return na
}

async function open(store: string): Promise<void> {
  const settings = { NA_CLOCK_CHECK: 'off', NA_NODE_DECISIONS: 'partners', EVIDENCE_STORE: store }
  na = await startTestAuthority({ clock, settings })
}

/** Runs `change` after the decision was signed and before it is stored. Answers both. */
async function meanwhile(ask: () => Promise<TestResponse>, change: () => Promise<unknown>): Promise<TestResponse> {
  // A first decision, so that the versions are known.
  expect(accepted(await ask(), 201)).toMatchObject({ decision: { authorized: true } })
  const { evidence } = authority().features
  const record = evidence.recordDecision.bind(evidence)
  vi.spyOn(evidence, 'recordDecision').mockImplementationOnce(async (made) => {
    expect(made.decision.authorized).toBe(true)
    await change()
    return record(made)
  })
  return ask()
}

async function ownMember() {
  const node = await newNodeCaller(authority().url, 'ask', clock)
  const { cert_id } = await enroll(authority(), node)
  const claims = { capabilities: ['ledger.read'] }
  const body = { subject_id: 'agent-7', roles: ['role:client'], subject_public_key: node.key, claims }
  const { attestation_id = null } = await privileged('/admin/attestations', body, 201)
  const asked = { attestation_id, requested_capability: 'ledger.read' }
  const audience = authority().genesis.network_authority.public_key
  return {
    cert_id,
    attestation_id: String(attestation_id),
    ask: () => node.post('/boundary/request', { action: 'boundary-request', audience, cert_id, ...asked }),
    operator: () => authority().as('standard')('POST', '/admin/boundary/evaluate', asked),
  }
}

async function partnersMember() {
  const body = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
  }
  const { treaty_id } = await privileged('/admin/recognition-treaties', body, 201)
  await importFeed(1)
  const attestation = foreignAttestation(partner, clock.now(), { claims: { capabilities: ['ledger.read'] } })
  const presented = { attestation, issuer_sovereign_id: partner.sovereign_id }
  const asked = { presented, requested_capability: 'ledger.read' }
  return {
    treaty_id: String(treaty_id),
    attestation_id: String(attestation['attestation_id']),
    ask: () => authority().as('standard')('POST', '/admin/boundary/evaluate', asked),
  }
}

const importFeed = (sequence: number, ids: readonly string[] = []): Promise<JsonObject> =>
  privileged('/admin/sovereign-revocation-feeds/import', {
    feed: foreignFeed(partner, sequence, ids, { issued_at: writeInstant(clock.now()) }),
  })

const denialOf = (answer: TestResponse): unknown => (accepted(answer, 201)['decision'] as JsonObject)['denial_reason']

describe.each(['on', 'off'])('a revocation that is stored before the decision, with the evidence store %s', (store) => {
  it('of the certificate refuses the request', async () => {
    await open(store)
    const { cert_id, ask } = await ownMember()
    refused(await meanwhile(ask, () => privileged('/admin/revoke', { cert_id })), 403, 'certificate_revoked')
  })

  it('of the attestation denies, for a node and for an operator', async () => {
    await open(store)
    for (const by of ['ask', 'operator'] as const) {
      const { attestation_id, [by]: ask } = await ownMember()
      const answer = await meanwhile(ask, () => privileged(`/admin/attestations/${attestation_id}/revoke`))
      expect(denialOf(answer)).toBe('attestation_revoked')
    }
  })

  it('of the treaty denies the member of the partner', async () => {
    await open(store)
    const { treaty_id, ask } = await partnersMember()
    const answer = await meanwhile(ask, () => privileged(`/admin/recognition-treaties/${treaty_id}/revoke`))
    expect(denialOf(answer)).not.toBeNull()
  })

  it('by the partner, in its feed, denies', async () => {
    await open(store)
    const { attestation_id, ask } = await partnersMember()
    expect(denialOf(await meanwhile(ask, () => importFeed(2, [attestation_id])))).toBe('attestation_revoked')
  })

  it('of the operator key refuses the call', async () => {
    await open(store)
    const { operator } = await ownMember()
    const answer = await meanwhile(operator, () => privileged('/admin/operator-keys/op-standard/revoke'))
    refused(answer, 401, 'admin_auth_failed')
  })

  it('of something else changes nothing, and one decision is stored', async () => {
    await open(store)
    const [{ ask }, other] = [await ownMember(), await ownMember()]
    const answer = accepted(await meanwhile(ask, () => privileged('/admin/revoke', { cert_id: other.cert_id })), 201)
    expect(answer).toMatchObject({ decision: { authorized: true } })
    const made = await authority().auditEvents('boundary_attestation_decision_made')
    expect(made).toHaveLength(2)
  })
})
