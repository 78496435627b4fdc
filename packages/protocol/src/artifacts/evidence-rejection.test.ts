import { FormError } from '../reading/schema.ts'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { readJson } from '../canonical/read-json.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { chainEntry } from '../evidence/read-event.ts'
import { asJson } from '../signing/verify-any.ts'
import { readEvidenceRejection, rejectionSubject } from './evidence-store-entry.ts'

/** The example of protocol/trust-operations 6.14. */
const PAYLOAD =
  '{"code":"evidence_unknown_executor","count":1,"decision_id":"d0000000-0000-4000-8000-000000000001","evidence_id":"e0000000-0000-4000-8000-000000000001","executor_sovereign_id":"VENDOR-1","rejected_at":"2030-01-03T12:00:05Z","rejection_id":"4e000000-0000-4000-8000-000000000001","resource_id":null,"submitted_digest":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","verified_executor":false}'

describe('the rejection of the published example', () => {
  it('has the digest of its payload and of its entry', () => {
    const rejection = readEvidenceRejection(readJson(PAYLOAD))
    expect(canonicalJson(asJson(rejection))).toBe(PAYLOAD)
    expect(sha256Hex(PAYLOAD)).toBe('3694218dff31701a1ea7026b22270253bc72891bf9466b8d7128e2c082b71908')
    const head = { store_sequence: 41, entry_digest: '0'.repeat(64) }
    const chained = chainEntry(head, rejectionSubject(rejection, undefined), PAYLOAD, '2030-01-03T12:00:05Z')
    expect(chained.entry_digest).toBe('231177876f063f5c95e139fedcf93b76e4feb5bb95532155ead97800e61392ad')
  })
})

describe('a rejection', () => {
  const example = readJson(PAYLOAD) as JsonObject
  const named = { evidence_id: null, decision_id: null, resource_id: null, executor_sovereign_id: null }

  it.each<[string, JsonObject]>([
    ['of nothing', { count: 0 }],
    ['with another member', { payload: {} }],
    ['with a code that is none', { code: 'A b' }],
    ['with a digest that is none', { submitted_digest: 'x' }],
    ['with a longer name', { evidence_id: 'e'.repeat(257) }],
    ['of many that names one', { count: 2 }],
    ['of many with a verified executor', { ...named, count: 2, verified_executor: true }],
  ])('%s has no valid form', (_what, changes) => {
    expect(() => readEvidenceRejection({ ...example, ...changes })).toThrow(FormError)
  })

  it('of many has no names', () => {
    expect(readEvidenceRejection({ ...example, ...named, count: 2 }).count).toBe(2)
  })
})
