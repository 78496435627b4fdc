import { describe, expect, it } from 'vitest'
import { JsonFloat, type JsonObject, type JsonValue } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import { readReceived } from '../signing/received.ts'
import trust from '../vectors/trust.json' with { type: 'json' }
import { agreementRecordForm } from './capability-offer.ts'
import { boundaryDecisionForm } from './boundary-decision.ts'
import { policySetDigest } from './decision-bindings.ts'
import { trustEvidenceForm, verifyTrustEvidence } from './trust-evidence.ts'

function worked(id: string): JsonObject {
  const found = trust.examples.find((each) => each.example === id)
  const signatures = (found?.signatures ?? []).map(({ key_id, sig }) => ({ key_id, sig }))
  return { ...(readJson(found?.bytes ?? '') as JsonObject), signatures }
}
const [na, partner] = trust.keys.map(({ public_key }) => public_key) as [string, string]

describe('trust evidence', () => {
  it.each<[string, JsonObject, readonly string[], string | undefined, string]>([
    ['as signed', {}, [partner, na], undefined, 'accepted'],
    ['over the expected graph', {}, [na], worked('E2')['graph_digest'] as string, 'accepted'],
    ['over another graph', {}, [na], '0'.repeat(64), 'graph_digest_mismatch'],
    ['unsigned', { signatures: [] }, [na], undefined, 'missing_signature'],
    ['of another key', {}, [partner], '0'.repeat(64), 'invalid_signature'],
    ['with another verdict', { verdict: 'block' }, [na], undefined, 'invalid_signature'],
    ['with more inside', { more: 1 }, [na], undefined, 'invalid_signature'],
  ])('%s', async (_name, change, keys, expectedGraphDigest, expected) => {
    const evidence = readReceived(trustEvidenceForm, { ...worked('E2'), ...change })
    const verdict = await verifyTrustEvidence(evidence, { keys, expectedGraphDigest })
    expect(verdict.ok ? 'accepted' : verdict.reason).toBe(expected)
  })

  it.each<[string, JsonObject, string | undefined]>([
    ['an unknown verdict', { verdict: 'maybe' }, undefined],
    ['evaluated_at of any text', { evaluated_at: 'yesterday' }, undefined],
    ['signals of strings', { signals: [{ anything: 'x' }] }, undefined],
    ['signals of other values', { signals: [{ code: 5 }] }, 'signals[0].code'],
    ['a negative hop count', { hop_count: -1 }, 'hop_count'],
    ['a float', { hop_count: new JsonFloat(1) }, 'hop_count'],
    ['an unreadable issued_at', { issued_at: 'yesterday' }, 'issued_at'],
  ])('is read with %s', (_name, change, field) => {
    expect(refusedField(() => readReceived(trustEvidenceForm, { ...worked('E2'), ...change }))).toBe(field)
  })
})

describe('readers', () => {
  const agreement = {
    ...worked('E4'),
    agreement_id: 'a',
    established_at: '2027-03-04T05:06:07Z',
    expires_at: '2027-04-04T00:00:00Z',
  } as JsonObject
  const terms = agreement['agreed_terms'] as JsonObject

  it.each<[string, JsonValue, string | undefined]>([
    ['as signed', agreement, undefined],
    ['a text', 'x', ''],
    [
      'an empty list of capabilities',
      { ...agreement, agreed_terms: { ...terms, capabilities: [] } },
      'agreed_terms.capabilities',
    ],
    [
      'an empty capability',
      { ...agreement, agreed_terms: { ...terms, capabilities: [''] } },
      'agreed_terms.capabilities[0]',
    ],
    [
      'a long capability',
      { ...agreement, agreed_terms: { ...terms, capabilities: ['x'.repeat(257)] } },
      'agreed_terms.capabilities[0]',
    ],
    [
      'an inverted window',
      { ...agreement, agreed_terms: { ...terms, valid_until: terms['valid_from'] ?? '' } },
      'valid_until',
    ],
    ['a long id', { ...agreement, offer_id: 'x'.repeat(129) }, 'offer_id'],
  ])('of an agreement: %s', (_name, value, field) => {
    expect(refusedField(() => readReceived(agreementRecordForm, value))).toBe(field)
  })

  it('of a decision: a denial has a reason, a grant has none', () => {
    const { signatures: _none, ...decision } = worked('E10')
    expect(refusedField(() => readReceived(boundaryDecisionForm, decision))).toBeUndefined()
    expect(refusedField(() => readReceived(boundaryDecisionForm, { ...decision, authorized: true }))).toBe(
      'denial_reason',
    )
    expect(refusedField(() => readReceived(boundaryDecisionForm, { ...decision, denial_reason: null }))).toBe(
      'denial_reason',
    )
  })
})

it('the digest of a policy set depends on its order and is known for none', () => {
  const policy_digest = '02cb7f60e395f072f71a15401df67ee3f46bb7462ea84a549e506fe11daaa026'
  expect(policySetDigest([{ policy_id: 'vendor-apps', version: 3, policy_digest }])).toBe(
    'a2acb384a2f0a1cbccc4bfc51e04d6d7a6244b7f4572c389f712c3833b1a806e',
  )
  expect(policySetDigest([])).toBe('4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945')
})

function refusedField(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    if (error instanceof FormError) return error.field
    throw error
  }
}
