import { readClientAssertion, seconds, seedSigner, sha256, toBase64, toBase64Url, toUtf8 } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import { EmbeddedJWK, SignJWT, generateKeyPair, jwtVerify } from 'jose'
import { beforeEach, expect, it } from 'vitest'
import { type AccessToken, TokenRefusedError, requestToken } from './access-token.ts'
import { type DpopKey, createDpopKey } from './dpop.ts'
import { fetchWithToken } from './fetch-with-token.ts'

const ISSUER = 'https://gw.example'
const RESOURCE = 'https://ledger.example/api'
const signer = await seedSigner('node', toBase64(new Uint8Array(32).fill(0x22)))
const { privateKey } = await generateKeyPair('ES256')
const start = BigInt(Date.now()) * 1000n
const certificate: JoinCertificate = {
  cert_id: 'cert-1',
  node_public_key: signer.publicKey,
  network_name: 'ALPHA',
  roles: [],
  issued_at: '2026-01-01T00:00:00Z',
  expires_at: '2036-01-01T00:00:00Z',
  issued_by: 'na',
  signatures: [],
}
let now = start
let dpopKey: DpopKey
let sent: { readonly body: URLSearchParams; readonly headers: Headers }[] = []
/** Changes what the gateway of the test writes into a token. */
let claims: JsonObject = {}
beforeEach(async () => {
  now = start
  sent = []
  claims = {}
  dpopKey = await createDpopKey()
})

/** A gateway that issues what was asked for. */
const gateway = async (_url: string, init: RequestInit): Promise<Response> => {
  const body = new URLSearchParams(String(init.body))
  sent.push({ body, headers: new Headers(init.headers) })
  const rules = { audience: ISSUER, clientId: undefined, now, maxAgeSeconds: 60, mayHaveEnded: false }
  const assertion = readClientAssertion(body.get('client_assertion') ?? '', rules)
  if (typeof assertion === 'string')
    return Response.json({ error: 'invalid_client', chancery_reason: assertion }, { status: 401 })
  const { clientId, proofKey } = assertion
  const scope = body.get('scope') ?? 'read'
  const exp = Number(now / seconds(1)) + 120
  const decisions = scope.split(' ').map((each) => ({ scope: each, id: `d-${each}`, digest: 'x' }))
  const written = {
    iss: ISSUER,
    sub: clientId,
    aud: body.get('resource') ?? '',
    scope,
    exp,
    ...(proofKey === undefined ? {} : { cnf: { jkt: proofKey } }),
    chancery: { decisions },
    ...claims,
  }
  const access_token = await new SignJWT(written).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' }).sign(privateKey)
  return Response.json({ access_token, token_type: 'DPoP', chancery_denied: [{ scope: 'x', reason: 'denied' }] })
}
const ask = (request: { readonly bearer?: boolean } = {}): Promise<AccessToken> =>
  requestToken(
    ISSUER,
    { resource: RESOURCE, scopes: ['read', 'append'], dpopKey, ...request },
    { signer, certificate, clock: () => now, fetch: gateway },
  )

it('asks with an assertion for this gateway and a proof that jose verifies', async () => {
  const token = await ask()
  expect(token).toMatchObject({ type: 'DPoP', scopes: ['read', 'append'], denied: [{ scope: 'x', reason: 'denied' }] })
  expect(token.decisions.map(({ id }) => id)).toEqual(['d-read', 'd-append'])
  const [request] = sent
  expect(request?.body.get('grant_type')).toBe('client_credentials')
  const proof = request?.headers.get('dpop') ?? ''
  const { payload } = await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt', algorithms: ['ES256'] })
  expect(payload).toMatchObject({ htm: 'POST', htu: `${ISSUER}/oauth/token` })
})

it('asks for a Bearer token without a proof', async () => {
  expect(await ask({ bearer: true })).toMatchObject({ type: 'Bearer', dpopKey: undefined })
  expect(sent[0]?.headers.get('dpop')).toBeNull()
})

it.each<[string, JsonObject]>([
  ['another service', { aud: 'https://other.example' }],
  ['another node', { sub: 'x' }],
  ['another gateway', { iss: 'https://other.example' }],
  ['another key', { cnf: { jkt: 'x' } }],
  ['a scope that was not asked', { scope: 'read admin' }],
])('refuses a token for %s', async (_what, changed) => {
  claims = changed
  await expect(ask()).rejects.toThrow('the answer of the gateway')
})

it('reports the reason of a refusal, and takes an origin only', async () => {
  const refuse = async (): Promise<Response> =>
    Response.json(
      { error: 'invalid_scope', error_description: 'No.', chancery_reason: 'decision_denied', request_id: 'r-1' },
      { status: 400 },
    )
  const identity = { signer, certificate, clock: () => now, fetch: refuse }
  const refused = requestToken(ISSUER, { resource: RESOURCE }, identity)
  await expect(refused).rejects.toBeInstanceOf(TokenRefusedError)
  await expect(refused).rejects.toMatchObject({ status: 400, reason: 'decision_denied', requestId: 'r-1' })
  await expect(requestToken(`${ISSUER}/`, { resource: RESOURCE }, identity)).rejects.toThrow('origin')
})

it('renews at half of the life, shares one request, proves each call, and sends no token elsewhere', async () => {
  const calls: Headers[] = []
  let nonce: string | undefined
  const service = async (_url: string, init: RequestInit): Promise<Response> => {
    calls.push(new Headers(init.headers))
    if (nonce === undefined) return new Response('ok')
    const wanted = nonce
    nonce = undefined
    return new Response('', { status: 401, headers: { 'dpop-nonce': wanted } })
  }
  const call = fetchWithToken({ resource: RESOURCE, clock: () => now, fetch: service, renew: () => ask() })
  await Promise.all([call(`${RESOURCE}/a`, {}), call(`${RESOURCE}/b`, {})])
  expect([sent.length, calls.length]).toEqual([1, 2])
  const token = calls[0]?.get('authorization')?.replace('DPoP ', '') ?? ''
  const verified = await jwtVerify(calls[0]?.get('dpop') ?? '', EmbeddedJWK, { typ: 'dpop+jwt' })
  expect(verified.payload).toMatchObject({ htm: 'GET', ath: toBase64Url(sha256(toUtf8(token))) })
  now += seconds(61)
  nonce = 'n-1'
  await call(RESOURCE, { method: 'POST', body: 'x' })
  expect([sent.length, calls.length]).toEqual([2, 4])
  const repeated = await jwtVerify(calls[3]?.get('dpop') ?? '', EmbeddedJWK, { typ: 'dpop+jwt' })
  expect(repeated.payload).toMatchObject({ htm: 'POST', nonce: 'n-1' })
  for (const url of ['https://ledger.example/apix', 'https://other.example/api', 'http://ledger.example/api'])
    await expect(call(url, {})).rejects.toThrow('its resource only')
  expect(calls).toHaveLength(4)
})
