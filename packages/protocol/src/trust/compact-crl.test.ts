import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Crl, type CrlEntry, REVOCATION_REASONS, draftCrl, readCrl } from '../artifacts/crl.ts'
import { canonicalBytes, writeJson } from '../canonical/canonical-json.ts'
import { fromUtf8, joinBytes, toUtf8 } from '../canonical/utf8.ts'
import { JsonError, readJsonBytes } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import { signList, signedBytes, verifyList } from '../signing/verify-any.ts'
import { seedSigner } from '../signing/keys.ts'
import { CompactCrl } from './compact-crl.ts'
import { positionOfList } from './revocation-list.ts'

const WHOLE = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

/** What the reader that makes values says. */
function readWhole(bytes: Uint8Array): Crl | undefined {
  try {
    return readCrl(readJsonBytes(bytes, WHOLE))
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return undefined
    throw error
  }
}

/** Whether both took it. */
function expectSame(bytes: Uint8Array): boolean {
  const whole = readWhole(bytes)
  const compact = CompactCrl.read(bytes)
  if (whole === undefined || compact === undefined) {
    expect(compact).toBe(undefined)
    expect(whole).toBe(undefined)
    return false
  }
  expect(compact.crl).toEqual(whole)
  expect(compact.count).toBe(whole.revoked_certificates.length)
  expect(compact.position).toEqual(positionOfList(whole))
  expect(compact.signedBytes).toEqual(signedBytes(whole, 'signatures'))
  expect(joinBytes(compact.pieces)).toEqual(canonicalBytes(whole))
  const ids = whole.revoked_certificates.map(({ certificate_id }) => certificate_id)
  for (const id of [...ids, 'cert', 'a', '"', '\\', '\ud800'])
    expect(compact.entryOf(id)).toEqual(whole.revoked_certificates.find((each) => each.certificate_id === id))
  return true
}

function mostly<Value>(good: fc.Arbitrary<Value>, bad: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ arbitrary: good, weight: 30 }, { arbitrary: bad, weight: 1 })
}

const SIGNATURE = `${'A'.repeat(86)}==`
const GOOD = ['cert', 'a', 'é', '\u{1f600}', '"', '\\', '}', '{"certificate_id":"a",', 'x'.repeat(128), 'é'.repeat(128)]
const text = mostly(
  fc.constantFrom(...GOOD),
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 4 }),
    fc.constantFrom('', 'x'.repeat(129), '\u{1f600}'.repeat(129), '\u0085', '\u007f'),
  ),
)
const time = '2026-01-02T03:04:05.123456Z'
const entry = fc.record({
  certificate_id: text,
  revoked_at: mostly(fc.constantFrom('2026-01-02T03:04:05Z', time), fc.constant('soon')),
  reason: mostly(fc.constantFrom(...REVOCATION_REASONS), fc.constantFrom('superseded ', '')),
  issuer: mostly(fc.constantFrom('na', 'other'), fc.constant('')),
})
const key_id = mostly(fc.constant('na'), fc.constant(''))
const sig = mostly(fc.constant(SIGNATURE), fc.constantFrom('AAAA', `${'A'.repeat(85)}B==`))
const list = fc.record(
  {
    crl_id: text,
    sequence: mostly(fc.nat(), fc.constantFrom(-1, 1.5, 2 ** 53)),
    issued_at: fc.constant('2026-01-02T03:04:05Z'),
    next_update: mostly(fc.constant('2026-01-03T03:04:05Z'), fc.constant('2026-01-01T03:04:05Z')),
    issuer: mostly(fc.constantFrom('na', 'é'), fc.constant('\u0085')),
    revoked_certificates: fc.array(entry, { maxLength: 3 }),
    signatures: fc.array(fc.record({ key_id, sig }), { maxLength: 9 }),
  },
  { requiredKeys: ['crl_id', 'sequence', 'issued_at', 'next_update', 'issuer'] },
)
const spelled = fc.tuple(list, fc.boolean(), fc.boolean()).map(([value, isSpaced, isEscaped]) => {
  const written = JSON.stringify(value, null, isSpaced ? ' ' : 0)
  return isEscaped ? written.replaceAll('e', String.raw`\u0065`) : written
})

const entries: readonly CrlEntry[] = ['cert-1', 'cert-é', 'cert-"}', 'cert-1'].map((certificate_id, n) => ({
  certificate_id,
  revoked_at: `2026-01-02T03:04:0${n}Z`,
  reason: 'superseded',
  issuer: 'na',
}))
const draft = draftCrl({ crl_id: 'crl-7', sequence: 7, issuer: 'na', now: 1_767_323_045_000_000n, entries })

describe('CompactCrl', () => {
  it('reads what the reader that makes values reads, and refuses what it refuses', () => {
    let taken = 0
    fc.assert(
      fc.property(spelled, (written) => {
        if (expectSame(toUtf8(written))) taken += 1
      }),
      { numRuns: 4000 },
    )
    expect(taken).toBeGreaterThan(1000)
  })

  it('agrees on texts that were changed in one place', () => {
    const whole = writeJson({ ...draft, signatures: [{ key_id: 'na', sig: SIGNATURE }] })
    const put = fc.constantFrom('', '"', '\\', ',', '}', ']', '0', ' ', '{', '\u0001', 'é')
    fc.assert(
      fc.property(fc.nat(whole.length), put, (at, added) => {
        expectSame(toUtf8(whole.slice(0, at) + added + whole.slice(at + (added === '' ? 1 : 0))))
      }),
      { numRuns: 3000 },
    )
  })

  it('is signed by who signed the record', async () => {
    const [signer, other] = await Promise.all([1, 2].map((n) => seedSigner('na', btoa(String(n).repeat(32)))))
    if (signer === undefined || other === undefined) throw new Error('two signers are needed')
    const signed = await signList(draft, signer)
    const compact = CompactCrl.read(toUtf8(writeJson(signed)))
    const keys = [[signer.publicKey], [other.publicKey], [other.publicKey, signer.publicKey], []]
    for (const each of keys) expect(await compact?.isSignedBy(each)).toBe(await verifyList(signed, each))
    const changed = CompactCrl.read(toUtf8(writeJson(signed).replace('cert-1', 'cert-2')))
    expect(await changed?.isSignedBy([signer.publicKey])).toBe(false)
  })

  it('finds the first entry of a certificate, and gives its record as JSON that can be passed on', () => {
    const compact = CompactCrl.read(toUtf8(writeJson(draft)))
    expect(compact?.entryOf('cert-1')).toEqual(entries[0])
    expect(compact?.entryOf('cert-"}')).toEqual(entries[2])
    expect(compact?.entryOf('cert-')).toBe(undefined)
    expect(fromUtf8(canonicalBytes({ ...compact?.crl }))).toBe(fromUtf8(canonicalBytes(draft)))
    expect(readCrl({ ...compact?.crl })).toEqual(draft)
  })
})
