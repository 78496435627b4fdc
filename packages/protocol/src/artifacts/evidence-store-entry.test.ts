import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import {
  NO_SUBJECT,
  asPlainEntry,
  readEvidenceRejection,
  readEvidenceStoreEntry,
  rejectionSubject,
} from './evidence-store-entry.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { readJson } from '../canonical/read-json.ts'
import { chainEntry } from '../evidence/read-event.ts'
import { asJson } from '../signing/verify-any.ts'

const ENTRY: JsonObject = {
  ...NO_SUBJECT,
  entry_kind: 'decision',
  store_sequence: 7,
  recorded_at: '2027-03-04T05:06:07.000001Z',
  payload_digest: 'd',
  prev_entry_digest: null,
}

function readCarefully(value: JsonValue): JsonValue | undefined {
  try {
    return readEvidenceStoreEntry(value)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

const value = fc.constantFrom<JsonValue>(null, 'x', '', 0, 1, -1, 1.5, 2 ** 53, true, [], {}, '2027-02-30T00:00:00Z')
const names = [...Object.keys(ENTRY), 'more', 'toString']

it('reads what the careful reader reads, and nothing else', () => {
  expect(asPlainEntry(ENTRY)).toBe(ENTRY)
  let taken = 0
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.option(value, { nil: undefined }), (name, other) => {
      const { [name]: _old, ...rest } = ENTRY
      const changed = other === undefined ? rest : { ...rest, [name]: other }
      const entry = asPlainEntry(changed)
      taken += entry === undefined ? 0 : 1
      expect(entry).toEqual(readCarefully(changed))
    }),
    { numRuns: 3000 },
  )
  expect(taken).toBeGreaterThan(300)
  for (const other of [null, [], 'x', 1] as const) expect(asPlainEntry(other)).toBeUndefined()
})

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
