import {
  asJson,
  canonicalJson,
  readAttestation,
  readJson,
  readRecognitionTreaty,
  readRevocationFeed,
  verifyList,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, SignedList } from '@chancery/protocol'
import {
  FloatNumber,
  ManualClock,
  accepted,
  canonicalText,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  foreignTreaty,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignValue, TestAuthority } from '@chancery/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Records signed by an independent implementation (testkit's foreign sovereign shares no code with the product). */
const clock = new ManualClock()
const partner = foreignSovereign('PARTNER-NËT 😀')

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      'B',
      'ë',
      '"',
      '\\',
      '/',
      '<',
      '\n',
      '\u0001',
      '\u007f',
      '\ue000',
      '\uffff',
      '\u{1f600}',
    ),
    maxLength: 5,
  }),
)
const leaf: fc.Arbitrary<ForeignValue> = fc.oneof(
  text,
  fc.constantFrom(
    90,
    90n,
    new FloatNumber(90),
    new FloatNumber(-0),
    new FloatNumber(1e16),
    new FloatNumber(1e-5),
    new FloatNumber(0.0001),
    2n ** 64n - 1n,
    -(2n ** 63n),
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => new FloatNumber(value)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.boolean(),
  fc.constant(null),
)
const names = fc.oneof(text, fc.constantFrom('10', '9', '__proto__', 'constructor', '\ue000', '\u{1f600}', 'a', 'A'))
const freeForm: fc.Arbitrary<ForeignObject> = fc
  .uniqueArray(fc.tuple(names, fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }))), {
    selector: ([name]) => name,
    maxLength: 6,
  })
  .map((members) => Object.fromEntries(members))

const isVerified = (record: object): Promise<boolean> =>
  verifyList(asJson(record) as JsonObject & SignedList, [partner.publicKey])
const read = (record: ForeignObject): JsonValue => readJson(wireText(record))

describe('records of another implementation', () => {
  it('of every kind verify, whatever text, numbers and names they contain', async () => {
    await fc.assert(
      fc.asyncProperty(freeForm, freeForm, async (one, other) => {
        const attestation = foreignAttestation(partner, clock.now(), { claims: one })
        const treaty = foreignTreaty(partner, partner, clock.now(), {
          metadata: one,
          scope: { allowed_roles: [], accepted_statuses: ['active'], claims: other },
        })
        expect(await isVerified(readAttestation(read(attestation)))).toBe(true)
        expect(await isVerified(readRecognitionTreaty(read(treaty)))).toBe(true)
      }),
      { numRuns: 150 },
    )
  })

  it('have the same canonical text in both implementations', () => {
    fc.assert(
      fc.property(freeForm, (value) => {
        expect(canonicalJson(readJson(wireText(value)))).toBe(canonicalText(value))
      }),
      { numRuns: 1000 },
    )
  })

  it.each<[string, ForeignObject, ForeignObject]>([
    ['90.0 read as 90', { limit: new FloatNumber(90) }, { limit: 90 }],
    ['90 read as 90.0', { limit: 90 }, { limit: new FloatNumber(90) }],
    ['2^53+1 rounded', { limit: 2n ** 53n + 1n }, { limit: 2n ** 53n }],
    ['ë in two characters', { name: 'zo\u00eb' }, { name: 'zoe\u0308' }],
    ['-0.0 read as 0.0', { limit: new FloatNumber(-0) }, { limit: new FloatNumber(0) }],
    ['null left out', { name: null }, {}],
  ])('%s is a different record', async (_what, signed, changed) => {
    const record = foreignAttestation(partner, clock.now(), { claims: signed })
    expect(await isVerified(readAttestation(read(record)))).toBe(true)
    expect(await isVerified(readAttestation(read({ ...record, claims: changed })))).toBe(false)
  })

  it('a feed with ids in code point order, not in UTF-16 order', async () => {
    const feed = foreignFeed(partner, 1, ['Z', 'a', 'ë', '\ue000', '\u{1f600}'], {
      revocation_reasons: { '\u{1f600}': 'grüße', '\ue000': '' },
    })
    expect(await isVerified(readRevocationFeed(read(feed)))).toBe(true)
  })

  it('with any instant of the grammar: the text is signed as written', async () => {
    for (const valid_from of [
      '2026-01-02T03:04:05',
      '2026-01-02T03:04:05.123456789Z',
      '2026-01-02T05:34:05+02:30',
      '2026-01-01T23:04:05.1-04:00',
    ]) {
      const record = readAttestation(read(foreignAttestation(partner, clock.now(), { valid_from })))
      expect(record.valid_from).toBe(valid_from)
      expect(await isVerified(record)).toBe(true)
    }
  })
})

describe('records of another implementation over HTTP', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  })
  afterAll(() => na.stop())
  const claims = {
    limit: new FloatNumber(90),
    whole: 90,
    '\u{1f600}': 2,
    '\ue000': 1,
    note: 'Zoë\u007f\n/',
    big: 2n ** 63n,
  }
  const send = async (path: string, rawBody: string): Promise<JsonObject> =>
    accepted(await na.request('POST', path, { rawBody, headers: { 'content-type': 'application/json' } }))

  it('are accepted by every verify route and by the import', async () => {
    const treatyBody = {
      subject_sovereign_id: partner.sovereign_id,
      subject_public_keys: [partner.publicKey],
      scope: { allowed_roles: ['role:client'] },
    }
    const own = await na.as('privileged')('POST', '/admin/recognition-treaties', treatyBody)
    accepted(own, 201)
    const attestation = wireText(foreignAttestation(partner, clock.now(), { claims }))
    const policy = `{"local_sovereign_id":"x","recognized_issuers":[{"sovereign_id":${JSON.stringify(partner.sovereign_id)},"public_keys":["${partner.publicKey}"],"allowed_roles":["role:client"]}]}`
    expect(
      await send('/attestations/verify', `{"attestation":${attestation},"recognition_policy":${policy}}`),
    ).toMatchObject({ accepted: true })
    expect(
      await send('/attestations/verify-with-treaty', `{"attestation":${attestation},"treaty":${own.text}}`),
    ).toMatchObject({ accepted: true })
    const treaty = wireText(foreignTreaty(partner, foreignSovereign('THIRD'), clock.now(), { metadata: claims }))
    expect(await send('/recognition-treaties/verify', `{"treaty":${treaty}}`)).toMatchObject({
      accepted: true,
      trust_basis: 'recognized_issuer_keys',
    })
    const feed = readJson(
      wireText(foreignFeed(partner, 1, ['a', '\ue000', '\u{1f600}'], { revocation_reasons: { '\u{1f600}': 'ë' } })),
    ) as JsonObject
    const imported = await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed })
    expect(accepted(imported)).toMatchObject({ accepted: true, revoked_count: 3 })
  })

  it('own records verify in the other implementation: claims have the number forms that were signed', async () => {
    const body = readJson(wireText({ subject_id: 'zoë', roles: ['role:client'], claims })) as JsonObject
    const issued = await na.as('privileged')('POST', '/admin/attestations', body)
    const { signatures, ...rest } = accepted(issued, 201) as JsonObject & SignedList
    const { createPublicKey, verify } = await import('node:crypto')
    const x = Buffer.from(na.genesis.network_authority.public_key, 'base64').toString('base64url')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    // The canonical text that the other implementation makes of the response: claims as requested, the rest plain
    // strings.
    const foreign = canonicalText({ ...(JSON.parse(canonicalJson(rest)) as ForeignObject), claims })
    expect(verify(null, Buffer.from(foreign), publicKey, Buffer.from(signatures[0]?.sig ?? '', 'base64'))).toBe(true)
  })
})
