import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NO_SUBJECT } from '../artifacts/evidence-store-entry.ts'
import { jsonValue } from '../canonical/arbitrary.suite.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { EMPTY_STORE, chainEntry, readEventLine } from './read-event.ts'
import { lineShortcuts } from './shortcuts.ts'

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

  it('reads any payload as it was stored, whichever reader it goes through', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const event = readEventLine(lineOf('decision', { value }))
        expect(event?.canonical).toBe(true)
        expect(canonicalJson(event?.payload ?? null)).toBe(canonicalJson({ value }))
        expect(event?.payloadDigest).toBe(sha256Hex(canonicalJson({ value })))
        expect(event?.claimedDigest).toBe(event?.entryDigest)
      }),
      { numRuns: 1000 },
    )
  })

  // Each says the same as a stored line, to some reader at least.
  // Nothing here is escaped, so that the length of the line is compared first.
  it.each<[string, string, string]>([
    ['a space', '"n":1', '"n": 1'],
    ['a space at the end', '1}}', '1} }'],
    ['minus nothing', '"z":0', '"z":-0'],
    ['an exponent as long as its number', '"h":100', '"h":1e2'],
    ['an exponent and the space that it saved', '"k":1000', '"k":1e3 '],
    ['members in another order', '"t":"x","z":0', '"z":0,"t":"x"'],
    ['a number as a name after a letter', '"a":1,"b":2', '"b":2,"1":1'],
    ['a name twice', '"n":1', '"n":1,"n":1'],
    ['a name twice, and the space that an exponent saved', '"k":1000,"n":1', '"k":1e9,"k":1000,"n":1'],
    ['a member more', '"schema":', '"more":1,"schema":'],
  ])('never calls canonical what is not, by length: %s', (_name, from, to) => {
    const line = lineOf('decision', { h: 100, k: 1000, n: 1, s: { a: 1, b: 2 }, t: 'x', z: 0, zz: { y: 1 } })
    expect(line).not.toContain('\\')
    expect(line).toContain(from)
    // With round numbers the length proves nothing; without them it does.
    for (const text of from.includes('00') ? [line] : [line, line.replaceAll(/100+/g, '7')]) {
      expect(readEventLine(text, lineShortcuts)?.canonical).toBe(true)
      expect(readEventLine(text.replace(from, to), lineShortcuts)?.canonical ?? false).toBe(false)
    }
  })

  it.each<[string, string, string]>([
    ['a space', '"n":1', '"n": 1'],
    ['an exponent', '"n":1', '"n":1e0'],
    ['minus nothing', '"z":0', '"z":-0'],
    ['members in another order', '"t":"x","z":0', '"z":0,"t":"x"'],
    ['numbers as names, in the order of numbers', '"10":1,"9":1', '"9":1,"10":1'],
    ['a needless escape', '"t":"x"', String.raw`"t":"\u0078"`],
    ['an escape in capitals', String.raw`\u00e9`, String.raw`\u00E9`],
    ['a character that is not ASCII', String.raw`\u00e9`, 'é'],
    ['a bare DEL', String.raw`\u007f`, '\u007f'],
    ['a needless backslash', '"t":"x"', String.raw`"t":"x","u":"\/"`],
    ['another schema version', '"schema_version":1}', '"schema_version":1.0}'],
    ['a member more', '"schema":', '"more":1,"schema":'],
    ['a text for the digest', '"entry_digest":"', '"entry_digest": "'],
  ])('never calls canonical what is not: %s', (_name, from, to) => {
    const line = lineOf('decision', { n: 1, t: 'x', z: 0, s: { '10': 1, '9': 1 }, e: 'é\u007f' })
    expect(line).toContain(from)
    expect(readEventLine(line)?.canonical).toBe(true)
    expect(readEventLine(line.replace(from, to))?.canonical).toBe(false)
  })

  it.each<[string, string, string]>([
    ['a name twice', '"n":1', '"n":1,"n":1'],
    ['half a surrogate pair', '"t":"x"', String.raw`"t":"\ud800"`],
    ['an integer out of range', '"n":1', `"n":${'9'.repeat(30)}`],
    ['a tail', '"schema_version":1}', '"schema_version":1}}'],
  ])('does not read %s', (_name, from, to) => {
    const line = lineOf('decision', { n: 1, t: 'x' })
    expect(readEventLine(line.replace(from, to))).toBeUndefined()
  })

  it.each(['', '[]', '{}', '{"entry":{},"entry_digest":"d","payload":{}}', '{"entry":'])(
    'is nothing for %j',
    (line) => {
      expect(readEventLine(line)).toBeUndefined()
    },
  )
})
