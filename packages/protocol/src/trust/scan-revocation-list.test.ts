import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import { JsonError, readJsonBytes } from '../canonical/read-json.ts'
import { fromUtf8, toUtf8 } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import { type RevocationList, readRevocationList } from '../artifacts/crl.ts'
import { positionOfList } from './revocation-list.ts'
import { scanRevocationList } from './scan-revocation-list.ts'
import { bytesOfScan, entriesOfScan, positionOfScan } from './scanned-list.ts'

const WHOLE = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

/** What the one reader of the protocol makes of it. */
function readWhole(bytes: Uint8Array): RevocationList | undefined {
  try {
    return readRevocationList(readJsonBytes(bytes, WHOLE))
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return undefined
    throw error
  }
}

/** Both readings of the same bytes, in the same terms. */
function expectSame(bytes: Uint8Array): void {
  const whole = readWhole(bytes)
  const scanned = scanRevocationList(bytes)
  if (whole === undefined || scanned === undefined) {
    expect(scanned).toBe(undefined)
    expect(whole).toBe(undefined)
    return
  }
  expect(fromUtf8(bytesOfScan(scanned, (length) => new Uint8Array(length)))).toBe(fromUtf8(canonicalBytes(whole)))
  const { signatures: _, ...rest } = whole
  expect(fromUtf8(scanned.signed)).toBe(fromUtf8(canonicalBytes(rest)))
  expect(positionOfScan(scanned)).toEqual(positionOfList(whole))
  expect(scanned.hasForeignEntry).toBe(whole.revoked_certificates.some(({ issuer }) => issuer !== whole.issuer))
  const texts = Array.from(entriesOfScan(scanned), ({ id, reason, revokedAt }) => [id, reason, revokedAt].map(fromUtf8))
  expect(texts).toEqual(whole.revoked_certificates.map((each) => [each.certificate_id, each.reason, each.revoked_at]))
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('na', '\u007f', 'é', '\u{1f600}', '"', '\\'),
)
const time = fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02T03:04:05.123456Z', '2026-01-02T03:04:05+01:00')
const entry = fc.record({
  certificate_id: text,
  revoked_at: fc.oneof(time, fc.constantFrom('soon', '')),
  reason: text,
  issuer: fc.constantFrom('na', 'na', 'na', 'other'),
})
const list = fc.record(
  {
    crl_id: text,
    sequence: fc.oneof(fc.nat(), fc.constantFrom(-1, 1.5, 2 ** 53)),
    issued_at: fc.constant('2026-01-02T03:04:05Z'),
    next_update: fc.constantFrom('2026-01-03T03:04:05Z', '2026-01-01T03:04:05Z'),
    issuer: fc.constantFrom('na', 'é'),
    revoked_certificates: fc.array(entry, { maxLength: 4 }),
    signatures: fc.array(fc.record({ key_id: text, sig: text }), { maxLength: 2 }),
  },
  { requiredKeys: ['crl_id', 'sequence', 'issued_at', 'next_update', 'issuer'] },
)
/** Spellings of one value: other orders of members, white space, escapes. */
const spelled = fc
  .tuple(list, fc.boolean(), fc.boolean(), fc.boolean())
  .map(([value, isSpaced, isTurned, isEscaped]) => {
    const turn = (each: unknown): unknown => {
      if (Array.isArray(each)) return each.map(turn)
      if (typeof each !== 'object' || each === null) return each
      const members = Object.entries(each).map(([name, inner]) => [name, turn(inner)] as const)
      return Object.fromEntries(isTurned ? members.toReversed() : members)
    }
    const written = JSON.stringify(turn(value), null, isSpaced ? '\t' : 0)
    return isEscaped ? written.replaceAll('i', String.raw`\u0069`) : written
  })

describe('scanRevocationList', () => {
  it('reads what the whole reader reads, and refuses what it refuses', () => {
    fc.assert(
      fc.property(spelled, (written) => expectSame(toUtf8(written))),
      { numRuns: 2000 },
    )
  })

  it('agrees on texts that were changed in one place', () => {
    const cut = fc.tuple(spelled, fc.nat(), fc.constantFrom('', '"', '\\', ',', '}', ']', '0', ' ', '{', '\u0001', 'é'))
    fc.assert(
      fc.property(cut, ([written, place, put]) => {
        const at = place % (written.length + 1)
        expectSame(toUtf8(written.slice(0, at) + put + written.slice(at + (put === '' ? 1 : 0))))
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees on bytes that are no text', () => {
    const changed = fc.tuple(spelled, fc.nat(), fc.nat(255)).map(([written, place, byte]) => {
      const bytes = toUtf8(written)
      bytes[place % bytes.length] = byte
      return bytes
    })
    fc.assert(fc.property(changed, expectSame), { numRuns: 5000 })
  })

  it('agrees on members of any length', () => {
    const times = '"sequence":1,"issued_at":"2026-01-02T03:04:05Z","next_update":"2026-01-03T03:04:05Z"'
    for (const length of [1, 3900, 4000, 4096, 5000, 100_000])
      for (const [crl, issuer] of [
        [length, 1],
        [1, length],
      ] as const)
        expectSame(toUtf8(`{"crl_id":"${'c'.repeat(crl)}",${times},"issuer":"${'é'.repeat(issuer)}"}`))
  })

  it('takes space between tokens, and refuses a list that is padded with it', () => {
    const text = (space: number): Uint8Array =>
      toUtf8(
        `{"crl_id":"c","sequence":1,${' '.repeat(space)}"issued_at":"2026-01-02T03:04:05Z","next_update":"2026-01-03T03:04:05Z","issuer":"na"}`,
      )
    expect(scanRevocationList(text(65_536))?.sequence).toBe(1)
    expect(scanRevocationList(text(65_537))).toBeUndefined()
  })

  const MIB = 1024 * 1024
  it.each([
    ['an array of objects', `[${'{},'.repeat(5 * MIB)}0]`],
    ['an object of members', `{${Array.from({ length: MIB }, (_, n) => `"${n.toString(36)}":0`).join(',')}}`],
    ['entries that are no entries', `{"revoked_certificates":[${'{},'.repeat(5 * MIB)}{}]}`],
    ['open brackets', '['.repeat(15 * MIB)],
    ['signatures without end', `{"signatures":[${'{"key_id":"a","sig":"b"},'.repeat(MIB / 2)}0]}`],
  ])('refuses %s where they begin', (_what, written) => {
    const bytes = toUtf8(written)
    // The best of some tries: others use this machine too.
    const tries = Array.from({ length: 5 }, () => {
      const before = performance.now()
      expect(scanRevocationList(bytes)).toBeUndefined()
      return performance.now() - before
    })
    expect(Math.min(...tries)).toBeLessThan(100)
  })
})
