import { contentDigest, seconds, signWit, toUtf8 } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testProof,
  testSigner,
  testWimseProof,
} from '@chancery/testkit'
import type { TestGateway, TestIssuer } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AUDIENCE, type CheckAnswer, askCheck, checkUrl } from './checked-gateway.suite.ts'

const DOMAIN = 'agency.example.org'
const clock = new ManualClock('2026-01-02T03:04:05Z')
let by: TestIssuer
let other: TestIssuer
let signer: Signer
let certificate: JoinCertificate
let policyWith: (check: JsonObject, revoked?: readonly string[]) => Promise<JsonObject>
let gateway: TestGateway

beforeAll(async () => {
  by = await testIssuer('agency')
  other = await testIssuer('other', 'na-other')
  signer = await testSigner('node', 'wimse')
  certificate = await testCertificate(by, clock.now(), { node_public_key: signer.publicKey, cert_id: 'cert-79' })
  let sequence = 9
  policyWith = async (check, revoked = []) => {
    sequence += 1
    const entries = revoked.map((certificate_id) => ({ certificate_id }))
    const list = await testList(by, clock.now(), { entries, sequence })
    const networks = {
      agency: testNetwork(by, list),
      other: testNetwork(other, await testList(other, clock.now(), { sequence })),
    }
    const policy = testPolicy(networks, [testClient('caller', ['agency'])], `test-${sequence}`)
    const routes = [
      { method: 'GET', path: '/jobs/{job}' },
      { method: 'POST', path: '/uploads', body: 'upstream' },
    ]
    return { ...policy, check: { audience: AUDIENCE, routes, ...check } }
  }
  gateway = await startTestGateway({
    clock,
    state: 'new',
    policy: await policyWith({ wimse: { agency: DOMAIN } }),
    settings: { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: 'original' },
  })
})
afterAll(() => gateway.stop())
beforeEach(() => clock.advance(2))

interface Case {
  readonly method?: string
  readonly target?: string
  readonly signed?: string
  readonly body?: string
  readonly fields?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly age?: number
  readonly nonce?: string
  readonly token?: { readonly trustDomain?: string; readonly signer?: Signer; readonly ends?: bigint }
}

async function ask(given: Case = {}): Promise<CheckAnswer> {
  const { method = 'GET', target = '/jobs/7', signed = target, fields = {}, age = 0, token = {} } = given
  const now = clock.now() - seconds(age)
  const facts = { certificate, trustDomain: token.trustDomain ?? DOMAIN, now: clock.now() }
  const notAfter = token.ends ?? clock.now() + seconds(3600)
  const { wit } = await signWit({ ...facts, notAfter }, token.signer ?? by.signer)
  const rest = {
    ...(given.body === undefined ? {} : { body: given.body }),
    ...(given.nonce ? { nonce: given.nonce } : {}),
  }
  const proof = await testWimseProof({ method, target: signed, audience: AUDIENCE, signer, wit, now, fields, ...rest })
  const headers = { ...proof, 'x-original-method': method, 'x-original-uri': target, ...given.headers }
  return askCheck(checkUrl(gateway), { path: '/check', headers })
}

const outcome = async (given: Case): Promise<readonly unknown[]> => {
  const { status, reason } = await ask(given)
  return [status, reason]
}

describe('the HTTP check with tokens of WIMSE', () => {
  it('names the node for the service', async () => {
    const { status, headers } = await ask({ fields: { authorization: 'Bearer x', 'content-type': 'text/plain' } })
    expect([status, headers['chancery-node'], headers['chancery-network']]).toEqual([200, 'cert-79', 'agency'])
    expect(headers['chancery-body-digest']).toBe(contentDigest(toUtf8('')))
    const upload = await ask({ method: 'POST', target: '/uploads', body: 'data' })
    expect([upload.status, upload.headers['chancery-body-digest']]).toEqual([200, contentDigest(toUtf8('data'))])
  })

  it.each<[number, string, Case]>([
    [401, 'signature_invalid', { signed: '/jobs/8' }],
    [401, 'signature_invalid', { fields: { authorization: 'Bearer x' }, headers: { authorization: 'Bearer y' } }],
    [401, 'proof_malformed', { headers: { authorization: 'Bearer y' } }],
    [401, 'proof_stale', { age: 62 }],
    [401, 'wit_malformed', { headers: { 'workload-identity-token': 'x' } }],
    [403, 'wit_untrusted', { token: { trustDomain: 'other.example' } }],
    [403, 'body_not_seen', { headers: { 'x-original-length': '4' } }],
    [403, 'route_denied', { target: '/nothing' }],
  ])('answers %i %s', async (status, reason, given) => {
    expect(await outcome(given)).toEqual([status, reason])
  })

  it('refuses a token that has ended, one that another authority signed, and a replay', async () => {
    expect(await outcome({ token: { ends: clock.now() } })).toEqual([401, 'wit_expired'])
    expect(await outcome({ token: { signer: other.signer } })).toEqual([403, 'wit_untrusted'])
    const nonce = 'nonce-of-one-request'
    expect([await outcome({ nonce }), await outcome({ nonce })]).toEqual([
      [200, undefined],
      [401, 'proof_replayed'],
    ])
  })

  it('refuses the node once its certificate is on the list', async () => {
    await gateway.reload(await policyWith({ wimse: { agency: DOMAIN } }, ['cert-79']))
    expect(await outcome({})).toEqual([403, 'certificate_untrusted'])
    await gateway.reload(await policyWith({}))
  })

  it('is off without trust domains, and for a network that the check does not accept', async () => {
    await gateway.reload(await policyWith({}))
    expect(await outcome({})).toEqual([401, 'proof_malformed'])
    await gateway.reload(await policyWith({ networks: ['other'], wimse: { agency: DOMAIN } }))
    expect(await outcome({})).toEqual([403, 'wit_untrusted'])
  })
})

describe('the HTTP check and Authorization', () => {
  const send = async (covered: string | undefined, sent: string | undefined): Promise<readonly unknown[]> => {
    const target = '/jobs/7'
    const made = {
      method: 'GET',
      target,
      audience: AUDIENCE,
      certificate: certificateOfSecond,
      signer,
      now: clock.now(),
    }
    const proof = await testProof({ ...made, ...(covered === undefined ? {} : { authorization: covered }) })
    const asked = { 'x-original-method': 'GET', 'x-original-uri': target }
    const headers = { ...proof, ...asked, ...(sent === undefined ? {} : { authorization: sent }) }
    const { status, reason } = await askCheck(checkUrl(gateway), { path: '/check', headers })
    return [status, reason]
  }
  let certificateOfSecond: JoinCertificate
  beforeAll(async () => {
    const facts = { node_public_key: signer.publicKey, cert_id: 'cert-80' }
    certificateOfSecond = await testCertificate(by, clock.now(), facts)
  })

  it('accepts a proof that covers it with that value only', async () => {
    await gateway.reload(await policyWith({}))
    expect(await send('Bearer x', 'Bearer x')).toEqual([200, undefined])
    expect(await send('Bearer x', 'Bearer y')).toEqual([401, 'signature_invalid'])
    expect(await send('Bearer x', undefined)).toEqual([401, 'proof_malformed'])
    expect(await send(undefined, 'Bearer x')).toEqual([200, undefined])
  })

  it('requires it when the policy says so', async () => {
    await gateway.reload(await policyWith({ require_signed_authorization: true }))
    expect(await send(undefined, 'Bearer x')).toEqual([401, 'authorization_not_covered'])
    expect(await send('Bearer x', 'Bearer x')).toEqual([200, undefined])
    expect(await send(undefined, undefined)).toEqual([200, undefined])
  })
})
