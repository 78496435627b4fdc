import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignSovereign,
  foreignTree,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const AGREED = ['ledger.read', 'ledger.append', '\u{1f600}.cap', '\ue000.cap', 'ledger.close']
let na: TestAuthority
let agreement: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  agreement = await agree()
})
afterAll(() => na.stop())

/** An agreement this authority issued with a recognised partner. */
async function agree(): Promise<JsonObject> {
  const treaty = {
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [foreignSovereign('PARTNER-NET').publicKey],
    scope: { allowed_roles: ['role:client'] },
  }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  const terms = {
    responder_sovereign_id: 'PARTNER-NET',
    capabilities: AGREED,
    valid_from: '2030-01-01T00:00:00Z',
    valid_until: '2031-01-01T00:00:00Z',
    expires_at: '2030-02-01T00:00:00Z',
  }
  const offer = accepted(await na.as('standard')('POST', '/admin/agreements/offer', terms), 201)
  return accepted(await na.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
}
const commit = (changes: JsonObject = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/disclosure/commit', { capabilities: AGREED, agreement, ...changes })

describe('POST /admin/disclosure/commit', () => {
  describe('201', () => {
    it('signs the root over the capabilities and audits it without naming them', async () => {
      const answer = await commit()
      const commitment = accepted(answer, 201)
      expect(commitment).toEqual({
        commitment_id: commitment['commitment_id'],
        merkle_root: foreignTree(AGREED).root,
        capability_count: 5,
        agreement_id: agreement['agreement_id'],
        committed_at: '2030-01-02T03:04:05Z',
        issuer_sovereign_id: 'TEST-NET',
        signature: { key_id: 'na-test', sig: (commitment['signature'] as JsonObject)['sig'] },
      })
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['capability_commitment_created'])
      expect(detailsOf(events[0])).toEqual({
        commitment_id: commitment['commitment_id'],
        agreement_id: agreement['agreement_id'],
        key_id: 'op-standard',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('accepts a part of the agreed capabilities, in any order', async () => {
      for (const count of [1, 2, 3, 4]) {
        const capabilities = AGREED.slice(0, count).toReversed()
        expect(accepted(await commit({ capabilities }), 201)['merkle_root']).toBe(foreignTree(capabilities).root)
      }
    })

    it('salts the leaves when asked, and gives the seed apart from the record, and to no audit event', async () => {
      const answer = await commit({ salted: true })
      const { commitment, seed } = accepted(answer, 201) as { commitment: JsonObject; seed: string }
      expect(commitment).toMatchObject({ salted: true, capability_count: 8 })
      expect(commitment['merkle_root']).not.toBe(foreignTree(AGREED).root)
      expect(JSON.stringify(commitment)).not.toContain(seed)
      expect(JSON.stringify(await eventsOf(na, answer))).not.toContain(seed)
      const again = accepted(await commit({ salted: true }), 201)['commitment'] as JsonObject
      expect(again['merkle_root']).not.toBe(commitment['merkle_root'])
      const body = { capability: 'ledger.read', capabilities: AGREED, commitment, prover_sovereign_id: 'PARTNER-NET' }
      // The route stores no seed, so it confirms no guess of a caller that has the commitment.
      refused(await na.request('POST', '/disclosure/prove', { body }), 422, 'prove_failed')
      const proof = accepted(await na.request('POST', '/disclosure/prove', { body: { ...body, seed } }))
      const { commitment_id } = commitment
      expect(accepted(await na.request('POST', '/disclosure/verify', { body: { proof, commitment } }))).toEqual({
        valid: true,
        reason: 'valid',
        commitment_id,
      })
    })

    it('is proved and verified end to end', async () => {
      const commitment = accepted(await commit(), 201)
      const body = { capability: AGREED[3] ?? '', capabilities: AGREED, commitment, prover_sovereign_id: 'PARTNER-NET' }
      const proof = accepted(await na.request('POST', '/disclosure/prove', { body }))
      const answer = await na.request('POST', '/disclosure/verify', { body: { proof, commitment } })
      expect(accepted(answer)).toMatchObject({
        valid: true,
        reason: 'valid',
        warning: 'unsalted: hidden names can be guessed',
      })
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['no list', { capabilities: null }],
      ['an empty list', { capabilities: [] }],
      ['a string', { capabilities: 'ledger.read' }],
      ['a list of 1025', { capabilities: Array.from({ length: 1025 }, (_, i) => `c${i}`) }],
      ['no agreement', { agreement: null }],
      ['a word for salted', { salted: 'yes' }],
    ])('missing_commit_fields for %s', async (_name, changes) => {
      refused(await commit(changes), 400, 'missing_commit_fields')
    })

    it('invalid_agreement for a malformed agreement, before its capabilities are checked', async () => {
      const { offer_id: _gone, ...broken } = agreement
      refused(await commit({ agreement: broken, capabilities: [5] }), 400, 'invalid_agreement')
      refused(await commit({ agreement: 'x' }), 400, 'invalid_agreement')
    })
  })

  describe('422', () => {
    it('agreement_untrusted for a changed agreement, with an event', async () => {
      const terms = { ...(agreement['agreed_terms'] as JsonObject), capabilities: [...AGREED, 'vault.open'] }
      const answer = await commit({ agreement: { ...agreement, agreed_terms: terms } })
      refused(answer, 422, 'agreement_untrusted')
      expect((await eventsOf(na, answer)).map((event) => event['event_type'])).toEqual(['agreement_untrusted'])
    })

    it.each<[string, JsonValue]>([
      ['an empty capability', ['ledger.read', '']],
      ['a number', ['ledger.read', 5]],
      ['a repetition', ['ledger.read', 'ledger.read']],
      ['one that was not agreed', ['ledger.read', 'vault.open']],
    ])('commit_failed for %s', async (_name, capabilities) => {
      const answer = await commit({ capabilities })
      refused(answer, 422, 'commit_failed')
      expect(await eventsOf(na, answer)).toEqual([])
    })
  })

  describe('401', () => {
    it('is for operators', async () => {
      refused(await na.request('POST', '/admin/disclosure/commit', { body: {} }), 401, 'admin_auth_failed')
    })
  })
})
