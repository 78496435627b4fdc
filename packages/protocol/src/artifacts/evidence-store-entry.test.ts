import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import { NO_SUBJECT, asPlainEntry, readEvidenceStoreEntry } from './evidence-store-entry.ts'

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
