import { describe, expect, it } from 'vitest'
import { NO_SUBJECT } from '../artifacts/evidence-store-entry.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { EMPTY_STORE, chainEntry } from './chain.ts'
import { readEventLine } from './read-event.ts'

/** What an append of this payload stores. */
function lineOf(entry_kind: string, payload: JsonObject): string {
  return chainEntry(EMPTY_STORE, { ...NO_SUBJECT, entry_kind }, canonicalJson(payload), '2027-03-04T05:06:07Z').line
}

const nested = (depth: number): JsonValue => (depth === 0 ? 1 : [nested(depth - 1)])
const proofWith = (...values: readonly JsonValue[]): JsonObject => ({
  trace: { entries: values.map((value) => ({ inputs: { value } })) },
})

describe('readEventLine', () => {
  it.each<[string, string, () => JsonObject]>([
    [
      'a checkpoint over more resources than a request may name members',
      'retention_checkpoint',
      () => ({
        resource_heads: Object.fromEntries(
          Array.from({ length: 10_001 }, (_, at) => [`r-${at}`, { resource_sequence: 1, record_digest: 'd' }]),
        ),
      }),
    ],
    // A request holds 64 levels, three of them around a parameter: {context: {request_parameters: {…}}}.
    ['a proof that shows the deepest fact a request can bring', 'justification', () => proofWith(nested(61))],
    [
      'a proof that shows one long fact twice',
      'justification',
      () => proofWith(Array<number>(40_000).fill(1), Array<number>(40_000).fill(1)),
    ],
  ])('reads what an append stored: %s', (_name, kind, payload) => {
    const event = readEventLine(lineOf(kind, payload()))
    expect(event?.canonical).toBe(true)
    expect(event?.payloadDigest).toBe(event?.entry.payload_digest)
  })

  it.each(['', '[]', '{}', '{"entry":{},"entry_digest":"d","payload":{}}', '{"entry":'])(
    'is nothing for %j',
    (line) => {
      expect(readEventLine(line)).toBeUndefined()
    },
  )
})
