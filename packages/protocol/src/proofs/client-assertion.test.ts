import { describe, expect, it } from 'vitest'
import { toBase64, toBase64Url } from '../canonical/base64.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { readInstant, seconds } from '../canonical/time.ts'
import { type JsonObject, toUtf8 } from '../canonical/utf8.ts'
import { draftAttestation } from '../artifacts/attestation.ts'
import { readJoinCertificate } from '../artifacts/join-certificate.ts'
import { signJws, writeCompactJws } from '../signing/jws.ts'
import { seedSigner } from '../signing/keys.ts'
import { isCallerAssertion, verifyCallerAssertion } from './caller-assertion.ts'
import {
  type AssertionRules,
  attestationOfAssertion,
  certificateInAssertion,
  clientIdOf,
  isAssertionSigned,
  readClientAssertion,
  signClientAssertion,
} from './client-assertion.ts'

const node = await seedSigner('node', toBase64(new Uint8Array(32).fill(0x22)))
const stranger = await seedSigner('stranger', toBase64(new Uint8Array(32).fill(0x33)))
const now = readInstant('2030-01-02T03:10:00Z') ?? 0n
const iat = Number(now / seconds(1))
const audience = 'https://gw.alpha.example'
/** The published example: certificate and assertion of fixed keys. */
const TEXT =
  '{"cert_id":"cert-7f","expires_at":"2030-01-03T03:00:00Z","issued_at":"2030-01-02T03:00:00Z","issued_by":"na-main","network_name":"ALPHA","node_public_key":"oJql9HpnWYAv+VX43C0qFKXJnSO+l/hkEn/5ODRVpPA=","roles":["role:client"],"signatures":[{"key_id":"na-main","sig":"Sl+c8Q3Kc1HTHhXR02GSeVlRHj2rWNoPbOe4XHuPRvV6prToFBFJj8DTi5SyqqQp7S6CdN+tb7e/dKt4b1dTDw=="}]}'
const certificate = readJoinCertificate(JSON.parse(TEXT) as JsonObject)
const rules: AssertionRules = { audience, clientId: undefined, now, maxAgeSeconds: 60, mayHaveEnded: false }
const id = 'urn:ietf:params:oauth:jwk-thumbprint:sha-256:f3zNtNnYfgmEKsQyyHtmruOfJFzBi1lyb_D_2J9CDPo'
const carried = (value: JsonObject): string => toBase64Url(toUtf8(writeJson(value)))

const CLAIMS: JsonObject = {
  iss: id,
  sub: id,
  aud: audience,
  jti: 'ca-000001-5a1c7e',
  iat,
  exp: iat + 60,
  chancery_certificate: toBase64Url(toUtf8(TEXT)),
}
async function made(claims: JsonObject = {}, header: JsonObject = { typ: 'JWT' }, signer = node): Promise<string> {
  const all = Object.entries({ ...CLAIMS, ...claims }).filter(([, value]) => value !== null)
  return writeCompactJws(await signJws(header, toUtf8(writeJson(Object.fromEntries(all))), signer))
}

it('is the published example', async () => {
  expect(clientIdOf(node.publicKey)).toBe(id)
  const at = readInstant('2030-01-02T03:10:00Z') ?? 0n
  const facts = { audience, certificate, attestation: undefined, proofKey: undefined, jti: 'ca-000001-5a1c7e', now: at }
  const text = await signClientAssertion(facts, node)
  const [head = '', payload = '', signature = ''] = text.split('.')
  expect(sha256Hex(`${head}.${payload}`)).toBe('41a0b1945ff9eb71b22d9d727d07abf81eb3b0c5e6e97c46e9fc0d4128e9387f')
  expect(signature).toBe('3lqCcN0290utkrOhqcnbXqCWa3AJqg9QVa7qvGXi1xYxQNG69Cj7o2I_sI4Frfvnivp-2LNd66TkjY14A6SQCw')
})

describe('client assertion', () => {
  it('is read with certificate, id and times, and its signature is checked apart', async () => {
    const read = readClientAssertion(await made(), rules)
    if (typeof read === 'string') throw new Error(read)
    expect(read).toMatchObject({ clientId: id, jti: 'ca-000001-5a1c7e', issuedAt: now, proofKey: undefined })
    expect(await isAssertionSigned(read)).toBe(true)
    const forged = readClientAssertion(await made({}, { typ: 'JWT' }, stranger), rules)
    if (typeof forged === 'string') throw new Error(forged)
    expect(await isAssertionSigned(forged)).toBe(false)
    expect(certificateInAssertion(await made())).toEqual(certificate)
  })

  it.each<[string, JsonObject, JsonObject, string]>([
    ['another algorithm', {}, { alg: 'ES256' }, 'assertion_algorithm'],
    ['no algorithm', {}, { alg: 'none' }, 'assertion_algorithm'],
    ['the type of a DPoP proof', {}, { typ: 'dpop+jwt' }, 'assertion_malformed'],
    ['the type of an agent card', {}, { typ: 'JOSE' }, 'assertion_malformed'],
    ['a key', {}, { jwk: {} }, 'assertion_malformed'],
    ['the address of keys', {}, { jku: 'https://x.example' }, 'assertion_malformed'],
    ['an extension', {}, { crit: ['exp'] }, 'assertion_malformed'],
    ['a long key id', {}, { kid: 'x'.repeat(257) }, 'assertion_malformed'],
    ['the token endpoint as audience', { aud: `${audience}/oauth/token` }, {}, 'wrong_audience'],
    ['two audiences', { aud: [audience, 'https://x.example'] }, {}, 'wrong_audience'],
    ['no audience', { aud: null }, {}, 'wrong_audience'],
    ['a text as time', { exp: String(iat + 60) }, {}, 'assertion_malformed'],
    ['an old time', { iat: iat - 61, exp: iat - 1 }, {}, 'assertion_stale'],
    ['a time ahead', { iat: iat + 31, exp: iat + 60 }, {}, 'assertion_stale'],
    ['an end in the past', { iat: iat - 30, exp: iat }, {}, 'assertion_stale'],
    ['a long life', { exp: iat + 61 }, {}, 'assertion_stale'],
    ['no life', { exp: iat }, {}, 'assertion_stale'],
    ['a start ahead', { nbf: iat + 31 }, {}, 'assertion_stale'],
    ['a short id', { jti: 'x'.repeat(15) }, {}, 'assertion_malformed'],
    ['a long id', { jti: 'x'.repeat(129) }, {}, 'assertion_malformed'],
    ['an id with a space', { jti: 'xxxxxxxx xxxxxxxx' }, {}, 'assertion_malformed'],
    ['another confirmation', { cnf: { jwk: {} } }, {}, 'assertion_malformed'],
    ['no certificate', { chancery_certificate: null }, {}, 'certificate_malformed'],
    ['a padded certificate', { chancery_certificate: `${toBase64Url(toUtf8(TEXT))}=` }, {}, 'certificate_malformed'],
    ['another member', { chancery_certificate: carried({ a: 1 }) }, {}, 'certificate_malformed'],
    ['another issuer', { iss: 'node-7' }, {}, 'client_id_mismatch'],
    ['another subject', { sub: clientIdOf(stranger.publicKey) }, {}, 'client_id_mismatch'],
  ])('with %s is refused', async (_what, claims, header, reason) => {
    expect(readClientAssertion(await made(claims, { typ: 'JWT', ...header }), rules)).toBe(reason)
  })

  it.each<[string, JsonObject, JsonObject]>([
    ['the newer name of its algorithm', {}, { alg: 'Ed25519' }],
    ['its media type', {}, { typ: 'client-authentication+jwt' }],
    ['a list of one audience', { aud: [audience] }, {}],
    ['a key id', {}, { kid: '../../etc/passwd' }],
    ['other claims', { more: [1] }, {}],
    ['a start', { nbf: iat }, {}],
  ])('with %s is read', async (_what, claims, header) => {
    expect(readClientAssertion(await made(claims, { typ: 'JWT', ...header }), rules)).toMatchObject({ clientId: id })
  })

  it('is refused for another client, with a repeated member, and in another form', async () => {
    const other = { ...rules, clientId: clientIdOf(stranger.publicKey) }
    expect(readClientAssertion(await made(), other)).toBe('client_id_mismatch')
    const twice = writeJson(CLAIMS).replace('{', '{"sub":"x",')
    const text = writeCompactJws(await signJws({}, toUtf8(twice), node))
    expect(readClientAssertion(text, rules)).toBe('assertion_malformed')
    for (const wrong of ['', 'a.b', `${await made()}.x`, `${await made()}=`])
      expect(readClientAssertion(wrong, rules)).toBe('assertion_malformed')
  })

  it('carries an attestation of its key and network, and no other', async () => {
    const draft = draftAttestation({
      attestation_id: 'att-1',
      issuer_sovereign_id: 'ALPHA',
      subject_id: 'agent-7',
      subject_public_key: node.publicKey,
      roles: [],
      claims: {},
      issued_by: 'na-main',
      now,
      validityHours: 1,
    })
    const of = (attestation: JsonObject | string) =>
      attestationOfAssertion({
        certificate,
        attestation: typeof attestation === 'string' ? attestation : carried(attestation),
      })
    expect(of(draft as unknown as JsonObject)).toMatchObject({ record: draft })
    expect(of({ ...draft, subject_public_key: stranger.publicKey })).toBe('attestation_not_bound')
    expect(of({ ...draft, issuer_sovereign_id: 'BETA' })).toBe('attestation_issuer_mismatch')
    expect(of('x')).toBe('attestation_malformed')
    expect(attestationOfAssertion({ certificate, attestation: undefined })).toBeUndefined()
  })
})

describe('client assertion as the proof of the caller of a relay', () => {
  const asked = { asked: { attestation_id: 'att-1' }, now }
  const given = async (members: JsonObject = {}, text?: string): Promise<JsonObject> => ({
    kind: 'client_assertion',
    client_assertion: text ?? (await made()),
    audience,
    ...members,
  })

  it('gives certificate, audience and id of the caller, also some time after it ended', async () => {
    const later = { ...asked, now: now + seconds(119) }
    expect(await verifyCallerAssertion(await given(), later)).toMatchObject({
      ok: true,
      caller: { certificate: { cert_id: 'cert-7f' }, audience, nonce: 'ca-000001-5a1c7e', kind: 'client_assertion' },
    })
    expect(isCallerAssertion(await given())).toBe(true)
    expect(isCallerAssertion({ method: 'GET' })).toBe(false)
  })

  it.each<[string, JsonObject, string]>([
    ['another member', { more: 1 }, 'malformed'],
    ['another kind', { kind: 'request_proof' }, 'malformed'],
    ['another audience', { audience: `${audience}/` }, 'malformed'],
  ])('with %s is refused', async (_what, members, reason) => {
    expect(await verifyCallerAssertion(await given(members), asked)).toEqual({ ok: false, reason })
  })

  it.each<[string, JsonObject, string]>([
    ['an old time', { iat: iat - 121, exp: iat - 61 }, 'stale'],
    ['a long life', { exp: iat + 300 }, 'stale'],
    ['another client', { sub: 'x' }, 'certificate_malformed'],
    ['another attestation', { chancery_attestation: carried({ attestation_id: 'att-2' }) }, 'attestation_mismatch'],
  ])('of %s is refused', async (_what, claims, reason) => {
    expect(await verifyCallerAssertion(await given({}, await made(claims)), asked)).toEqual({ ok: false, reason })
  })

  it('of another key is refused', async () => {
    const forged = await given({}, await made({}, { typ: 'JWT' }, stranger))
    expect(await verifyCallerAssertion(forged, asked)).toEqual({ ok: false, reason: 'signature_invalid' })
  })
})
