import { type JsonObject, SECOND, joinAudience, readSpiffeId, sha256Hex } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type IssuerKey, TestIssuer, newIssuerKey, signToken } from './test-issuer.suite.ts'
import { type TestSvid, TestTrustDomain, proveSvid } from './test-svid.suite.ts'

// Certificates of openssl have the time of the machine.
const clock = new ManualClock(BigInt(Date.now()) * 1000n)
const issuer = new TestIssuer()
const prod = new TestTrustDomain('prod.example')
const foreign = new TestTrustDomain('prod.example')
let na: TestAuthority
let node: NodeCaller
let jwtKey: IssuerKey
let count = 0

beforeAll(async () => {
  await issuer.start()
  jwtKey = await newIssuerKey('jwt-1', 'ES256', { use: 'jwt-svid' })
  issuer.body = prod.bundle(jwtKey.jwk)
  na = await startTestAuthority({ clock, settings: issuer.settings })
})
afterAll(async () => {
  await na.stop()
  await issuer.stop()
  prod.remove()
  foreign.remove()
})
beforeEach(async () => {
  node = await newNodeCaller(na.url, 'svid', clock)
})

const API = 'spiffe://prod.example/api'
const nowSeconds = (): number => Number(clock.now() / SECOND)
const bound = (from: NodeCaller = node): string => joinAudience(na.genesis.network_authority.public_key, from.key)

async function newRule(kind: 'spiffe_jwt' | 'spiffe_x509', members: JsonObject = {}): Promise<string> {
  count += 1
  const rule = {
    rule_id: `svid-${count}`,
    kind,
    trust_domain: 'prod.example',
    bundle_url: `${issuer.url}/bundle`,
    required_claims: { sub: [API] },
    ...members,
  }
  const answer = await na.as('privileged')('POST', '/admin/admission-rules', rule)
  return String((accepted(answer, 201)['rule'] as JsonObject)['rule_id'])
}

function expectReason(answer: TestResponse, reason: string): void {
  expect(refused(answer, 403, 'evidence_refused')['details']).toEqual({ reason })
}

describe('a JWT-SVID', () => {
  const claims = (members: object = {}): object => ({ sub: API, aud: [bound()], exp: nowSeconds() + 300, ...members })
  const join = async (rule_id: string, token: string): Promise<TestResponse> =>
    node.post('/join', { evidence: { rule_id, token } })

  it('joins with its SPIFFE ID as subject, without iss and iat', async () => {
    const answer = await join(await newRule('spiffe_jwt'), await signToken(jwtKey, claims()))
    accepted(answer, 201)
    expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({
      evidence_issuer: 'prod.example',
      evidence_subject: API,
    })
  })

  it.each([
    ['of another trust domain', 'issuer_mismatch', { sub: 'spiffe://dev.example/api' }],
    ['of a domain that ends alike', 'issuer_mismatch', { sub: 'spiffe://evil.prod.example/api' }],
    ['of another workload', 'claims_mismatch', { sub: 'spiffe://prod.example/web' }],
    ['of a path below', 'claims_mismatch', { sub: `${API}/x` }],
    ['with a trailing slash', 'issuer_mismatch', { sub: `${API}/` }],
    ['with a percent', 'issuer_mismatch', { sub: 'spiffe://prod.example/%61pi' }],
    ['with dots', 'issuer_mismatch', { sub: 'spiffe://prod.example/x/../api' }],
    ['in upper case', 'issuer_mismatch', { sub: 'spiffe://PROD.example/api' }],
    ['without an end', 'malformed', { exp: undefined }],
    ['without an audience', 'audience_mismatch', { aud: undefined }],
    ['for another node', 'audience_mismatch', { aud: 'chancery-join:x' }],
  ])('%s is refused: %s', async (_what, reason, members) => {
    expectReason(await join(await newRule('spiffe_jwt'), await signToken(jwtKey, claims(members))), reason)
  })

  it('has no other header, and a key of its use', async () => {
    const rule_id = await newRule('spiffe_jwt')
    expectReason(await join(rule_id, await signToken(jwtKey, claims(), { x5t: 'AAAA' })), 'malformed')
    expectReason(await join(rule_id, await signToken(jwtKey, claims(), { typ: 'wit+jwt' })), 'malformed')
    const plain = await newIssuerKey('plain', 'ES256')
    const pinned = await newRule('spiffe_jwt', { bundle_url: null, keys: { keys: [plain.jwk] } as JsonObject })
    expectReason(await join(pinned, await signToken(plain, claims())), 'key_unknown')
  })

  it('is never joined by a bundle that went back', async () => {
    const url = `${issuer.url}/back`
    const rule_id = await newRule('spiffe_jwt', { bundle_url: url })
    issuer.body = { ...prod.bundle(jwtKey.jwk), spiffe_sequence: 7 }
    accepted(await join(rule_id, await signToken(jwtKey, claims())), 201)
    const old = await newIssuerKey('old', 'ES256', { use: 'jwt-svid' })
    issuer.body = { ...prod.bundle(old.jwk), spiffe_sequence: 6 }
    clock.advance(60)
    expectReason(await join(rule_id, await signToken(old, claims())), 'key_unknown')
    issuer.body = prod.bundle(jwtKey.jwk)
  })
})

describe('an X.509-SVID', () => {
  const proofClaims = (members: object = {}): object => ({
    aud: bound(),
    iat: nowSeconds(),
    exp: nowSeconds() + 300,
    ...members,
  })
  const joinWith = (
    rule_id: string,
    svid: TestSvid,
    token = proveSvid(svid.key, proofClaims()),
  ): Promise<TestResponse> => node.post('/join', { evidence: { rule_id, token, certificate_chain: svid.chain } })

  it.each(['root', 'intermediate'] as const)('joins and renews by a path to the bundle: %s', async (by) => {
    const [rule_id, svid] = [await newRule('spiffe_x509'), prod.issue('/api', { by })]
    const answer = await joinWith(rule_id, svid)
    const { cert_id } = accepted(answer, 201)
    expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({
      evidence_issuer: 'prod.example',
      evidence_subject: API,
      evidence_digest: sha256Hex(Buffer.from(svid.chain[0] ?? '', 'base64')),
    })
    const token = proveSvid(svid.key, proofClaims())
    accepted(
      await node.post('/renew', {
        cert_id: String(cert_id),
        evidence: { rule_id, token, certificate_chain: svid.chain },
      }),
      201,
    )
  })

  it('admits another node key by a new proof, and no proof of another', async () => {
    const [rule_id, svid] = [await newRule('spiffe_x509'), prod.issue('/api')]
    const proof = proveSvid(svid.key, proofClaims())
    for (let use = 0; use < 5; use += 1) accepted(await joinWith(rule_id, svid, proof), 201)
    expectReason(await joinWith(rule_id, svid, proof), 'evidence_used')
    node = await newNodeCaller(na.url, 'svid', clock)
    expectReason(await joinWith(rule_id, svid, proof), 'audience_mismatch')
    accepted(await joinWith(rule_id, svid), 201)
  })

  const CA_LEAF = 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,digitalSignature,keyCertSign\n'
  it.each([
    ['of a foreign root with the same name', 'certificate_untrusted', () => foreign.issue('/api')],
    ['of another workload', 'claims_mismatch', () => prod.issue('/web')],
    [
      'of another trust domain, signed by this root',
      'issuer_mismatch',
      () => prod.issue('', { names: 'URI:spiffe://dev.example/api' }),
    ],
    [
      'with two URI names',
      'certificate_invalid',
      () => prod.issue('', { names: `URI:${API},URI:spiffe://prod.example/web` }),
    ],
    ['without a name', 'certificate_invalid', () => prod.issue('', { names: '' })],
    ['with a name of a host', 'certificate_invalid', () => prod.issue('', { names: 'DNS:prod.example' })],
    ['without a path', 'certificate_invalid', () => prod.issue('', { names: 'URI:spiffe://prod.example' })],
    ['that is a CA', 'certificate_invalid', () => prod.issue('/api', { extensions: CA_LEAF })],
    [
      'whose key usage is not critical',
      'certificate_invalid',
      () => prod.issue('/api', { extensions: 'keyUsage=digitalSignature\n' }),
    ],
    ['without key usage', 'certificate_invalid', () => prod.issue('/api', { extensions: '' })],
    [
      'that may sign certificates',
      'certificate_invalid',
      () => prod.issue('/api', { extensions: 'keyUsage=critical,digitalSignature,keyCertSign\n' }),
    ],
    [
      'with an unknown critical extension',
      'certificate_untrusted',
      () => prod.issue('/api', { extensions: 'keyUsage=critical,digitalSignature\n1.2.3.4=critical,DER:0500\n' }),
    ],
    ['signed with SHA-1', 'certificate_untrusted', () => prod.issue('/api', { digest: 'sha1' })],
    ['that lives for weeks', 'lifetime_too_long', () => prod.issue('/api', { days: '20' })],
    [
      'without its intermediate',
      'certificate_untrusted',
      () => ({
        ...prod.issue('/api', { by: 'intermediate' }),
        chain: prod.issue('/api', { by: 'intermediate' }).chain.slice(0, 1),
      }),
    ],
    [
      'with a foreign intermediate',
      'certificate_untrusted',
      () => ({
        ...prod.issue('/api'),
        chain: [...prod.issue('/api').chain, ...foreign.issue('/api', { by: 'intermediate' }).chain.slice(1)],
      }),
    ],
    [
      'with bytes behind it',
      'certificate_invalid',
      () => ({
        ...prod.issue('/api'),
        chain: prod
          .issue('/api')
          .chain.map((text) => Buffer.concat([Buffer.from(text, 'base64'), Buffer.alloc(3)]).toString('base64')),
      }),
    ],
    ['that is no certificate', 'certificate_invalid', () => ({ ...prod.issue('/api'), chain: ['AAAA'] })],
  ])('%s is refused: %s', async (_what, reason, make) => {
    expectReason(await joinWith(await newRule('spiffe_x509'), make()), reason)
  })

  it('needs a fresh proof by its own key, bound to the node', async () => {
    const [rule_id, svid, other] = [await newRule('spiffe_x509'), prod.issue('/api'), prod.issue('/api')]
    const tryProof = (key: TestSvid['key'], members: object = {}, header: object = {}): Promise<TestResponse> =>
      joinWith(rule_id, svid, proveSvid(key, proofClaims(members), header))
    expectReason(await tryProof(other.key), 'signature_invalid')
    expectReason(await tryProof(svid.key, { aud: 'x' }), 'audience_mismatch')
    expectReason(await tryProof(svid.key, { exp: nowSeconds() + 700 }), 'lifetime_too_long')
    expectReason(await tryProof(svid.key, { exp: nowSeconds() }), 'expired')
    expectReason(await tryProof(svid.key, {}, { typ: 'JWT' }), 'malformed')
    expectReason(await tryProof(svid.key, {}, { alg: 'ES384' }), 'algorithm_not_allowed')
    expectReason(
      await node.post('/join', { evidence: { rule_id, token: proveSvid(svid.key, proofClaims()) } }),
      'malformed',
    )
    accepted(await tryProof(svid.key), 201)
  })

  const SIGNER = 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n'
  it.each([
    ['that may not sign', 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n'],
    ['with name constraints', `${SIGNER}nameConstraints=permitted;URI:allowed.example\n`],
    ['with critical name constraints', `${SIGNER}nameConstraints=critical,permitted;URI:allowed.example\n`],
  ])('is not admitted below an intermediate %s', async (_what, intermediate) => {
    const broken = new TestTrustDomain('broken.example', intermediate)
    try {
      const rule_id = await newRule('spiffe_x509', {
        trust_domain: 'broken.example',
        bundle_url: null,
        keys: broken.bundle(),
        required_claims: { sub: ['spiffe://broken.example/api'] },
      })
      expectReason(await joinWith(rule_id, broken.issue('/api', { by: 'intermediate' })), 'certificate_untrusted')
      accepted(await joinWith(rule_id, broken.issue('/api')), 201)
    } finally {
      broken.remove()
    }
  })

  it('is refused after its end, and before the bundle has its root', async () => {
    const [rule_id, svid] = [await newRule('spiffe_x509', { bundle_url: `${issuer.url}/later` }), prod.issue('/api')]
    issuer.body = { ...foreign.bundle(), spiffe_sequence: 1 }
    expectReason(await joinWith(rule_id, svid), 'certificate_untrusted')
    issuer.body = prod.bundle(jwtKey.jwk)
    clock.advance(60)
    accepted(await joinWith(rule_id, svid), 201)
    clock.advance(86_400)
    expectReason(await joinWith(rule_id, svid), 'expired')
  })
})

it.each([
  ['spiffe://a.example/x', true],
  ['spiffe://a.example/x/y-1_2.z', true],
  ['spiffe://a.example', false],
  ['spiffe://a.example/', false],
  ['spiffe://a.example//x', false],
  ['spiffe://a.example/./x', false],
  ['spiffe://a.example:80/x', false],
  ['spiffe://user@a.example/x', false],
  ['spiffe://a.example/x?y', false],
  ['SPIFFE://a.example/x', false],
  [`spiffe://${'a'.repeat(256)}/x`, false],
  [`spiffe://a.example/${'x'.repeat(2048)}`, false],
])('the SPIFFE ID %s is readable: %s', (text, isReadable) => {
  expect(readSpiffeId(text) !== undefined).toBe(isReadable)
})
