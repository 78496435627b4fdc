import { type JsonObject, writeInstant } from '@chancery/protocol'
import {
  FloatNumber,
  ManualClock,
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', EVIDENCE_STORE: 'on' } })
})
afterAll(() => na.stop())

const privileged = (path: string, body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', path, body)

async function treatyWith(partner: ForeignSovereign, claims: JsonObject = { capabilities: ['ledger.*'] }) {
  const body = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], claims },
  }
  return String(accepted(await privileged('/admin/recognition-treaties', body), 201)['treaty_id'])
}

async function importFeed(partner: ForeignSovereign, sequence: number, ids: readonly string[] = []): Promise<void> {
  const feed = foreignFeed(partner, sequence, ids, { issued_at: writeInstant(clock.now()) })
  accepted(await privileged('/admin/sovereign-revocation-feeds/import', { feed }))
}

const memberOf = (partner: ForeignSovereign, changes: ForeignObject = {}): JsonObject =>
  foreignAttestation(partner, clock.now(), { claims: { capabilities: ['ledger.read'] }, ...changes })

const evaluate = (attestation: JsonObject, more: JsonObject = {}, body: JsonObject = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/boundary/evaluate', {
    presented: { attestation, issuer_sovereign_id: attestation['issuer_sovereign_id'] ?? null, ...more },
    requested_capability: 'ledger.read',
    ...body,
  })
const denialOf = async (answer: Promise<TestResponse>): Promise<unknown> =>
  (accepted(await answer, 201)['decision'] as JsonObject)['denial_reason']

describe('POST /admin/boundary/evaluate with a presented attestation', () => {
  it('allows what attestation and treaty name, with a recent feed, until a revocation is imported', async () => {
    const partner = foreignSovereign('ONE')
    const treaty_id = await treatyWith(partner)
    const record = memberOf(partner)
    expect(await denialOf(evaluate(record))).toBe('insufficient freshness')
    await importFeed(partner, 1)
    const answer = accepted(await evaluate(record), 201)
    expect(answer).toMatchObject({
      decision: { authorized: true },
      context: { requester_sovereign_id: 'ONE', attributes: { chancery_recognition: { treaty_id, feed_sequence: 1 } } },
    })
    expect(answer['context']).not.toHaveProperty('attributes.chancery_request')
    await importFeed(partner, 2, [String(record['attestation_id'])])
    expect(await denialOf(evaluate(record))).toBe('attestation_revoked')
  })

  it('is stored with the decision, when its issuer signed it, and the store verifies', async () => {
    const partner = foreignSovereign('STORED')
    await treatyWith(partner)
    await importFeed(partner, 1)
    const read = async (path: string): Promise<JsonObject> => accepted(await na.as('standard')('GET', path))
    const storedWith = async (attestation: JsonObject): Promise<unknown> => {
      const { decision } = accepted(await evaluate(attestation), 201) as { decision: JsonObject }
      const id = String(decision['decision_id'])
      const { entries } = await read(`/admin/evidence?entry_kind=decision&decision_id=${id}`)
      const [entry] = entries as JsonObject[]
      return (entry?.['payload'] as JsonObject | undefined)?.['attestation']
    }
    const record = memberOf(partner)
    expect(await storedWith(record)).toEqual(record)
    const { subject_id: _name, ...rest } = record
    expect(await storedWith({ ...rest, subject_id: 'another member' })).toBeUndefined()
    expect(await read('/admin/evidence/verify')).toMatchObject({ verified: true, failures: [] })
  })

  it('a feed becomes too old with time', async () => {
    const partner = foreignSovereign('OLD')
    await treatyWith(partner)
    await importFeed(partner, 1)
    const record = memberOf(partner, { expires_at: '2026-02-01T00:00:00Z' })
    expect(await denialOf(evaluate(record))).toBeNull()
    clock.advance(86_401)
    expect(await denialOf(evaluate(record))).toBe('insufficient freshness')
  })

  it('considers own treaties only, the named one alone, and explains why none is in force', async () => {
    const [partner, other] = [foreignSovereign('TWO'), foreignSovereign('THREE')]
    const record = memberOf(partner)
    expect(await denialOf(evaluate(record))).toBe('treaty_not_found')
    const [first, foreign] = [await treatyWith(partner), await treatyWith(other)]
    await importFeed(partner, 1)
    expect(await denialOf(evaluate(record, { treaty_id: first }))).toBeNull()
    expect(await denialOf(evaluate(record, { treaty_id: foreign }))).toBe('treaty_not_found')
    accepted(await privileged(`/admin/recognition-treaties/${first}/revoke`, {}))
    expect(await denialOf(evaluate(record))).toBe('treaty_revoked')
    clock.advance(1)
    await treatyWith(partner, {})
    expect(await denialOf(evaluate(record))).toBe('capability out of scope')
  })

  it('an own attestation of the same id makes it invalid', async () => {
    const partner = foreignSovereign('SAME')
    await treatyWith(partner)
    const body = { subject_id: 'x', roles: ['role:client'], validity_hours: 24 }
    const own = accepted(await privileged('/admin/attestations', body), 201)
    const attestation_id = String(own['attestation_id'])
    expect(await denialOf(evaluate(memberOf(partner, { attestation_id })))).toBe('attestation_invalid')
    refused(await evaluate(own), 400, 'wrong_issuer')
  })

  it('takes the text of the attestation, whose numbers keep their form', async () => {
    const partner = foreignSovereign('TEXT-NET')
    await treatyWith(partner)
    await importFeed(partner, 1)
    const claims = { capabilities: ['ledger.read'], limit: new FloatNumber(100) }
    const text = wireText(foreignAttestation(partner, clock.now(), { claims }))
    const ask = (members: JsonObject): Promise<TestResponse> =>
      na.as('standard')('POST', '/admin/boundary/evaluate', {
        presented: { issuer_sovereign_id: partner.sovereign_id, ...members },
        requested_capability: 'ledger.read',
      })
    expect(await denialOf(ask({ attestation_text: text }))).toBeNull()
    const reread = JSON.parse(text) as JsonObject
    expect(await denialOf(ask({ attestation: reread }))).toBe('attestation_invalid')
    refused(await ask({ attestation_text: text, attestation: reread }), 400, 'invalid_attestation')
    refused(await ask({ attestation_text: '{' }), 400, 'invalid_attestation')
  })

  it('refuses malformed requests', async () => {
    const record = memberOf(foreignSovereign('FORM'))
    const { roles: _roles, ...incomplete } = record
    refused(await evaluate(incomplete), 400, 'invalid_attestation')
    refused(await evaluate(record, { issuer_sovereign_id: 'OTHER' }), 400, 'wrong_issuer')
    refused(await evaluate(record, { keys: [] }), 400, 'unexpected_field')
    refused(await evaluate(record, { treaty_id: 5 }), 400, 'invalid_input')
    refused(await evaluate(record, {}, { attestation_id: 'x' }), 400, 'ambiguous_basis')
    refused(await evaluate(record, {}, { context: { attributes: { chancery_x: 1 } } }), 400, 'invalid_context')
  })
})
