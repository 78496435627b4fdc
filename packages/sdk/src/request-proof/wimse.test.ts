// oxlint-disable max-lines -- one refusal after the other, against the same request
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { seconds, signWit, toBase64Url, toUtf8, signJws, writeJson, toBase64 } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type CardNetwork, NOW, cardNetwork } from '../a2a/card.suite.ts'
import { authenticate } from '../nodejs/node-http.ts'
import { callerBasis } from './caller-basis.ts'
import { MemoryNonceStore } from './nonces.ts'
import { firstReads, firstSigns, secondReads } from './readers.suite.ts'
import { type AuthorizerOptions, createAuthorizer } from './authorizer.ts'
import { createSigningFetch } from './sign.ts'
import type { Caller } from './caller.ts'
import type { SigningProfile, VerifyingProfile } from './profile.ts'
import { type AcceptedWimse, type WimseRequest, signWimseRequest, verifyWimse } from './wimse.ts'

const AUDIENCE = 'https://print.example.org'
const DOMAIN = 'agency.example.org'
const CREATED = Number(NOW / seconds(1))
let own: CardNetwork
let wit: string
beforeAll(async () => {
  own = await cardNetwork('agency')
  wit = await tokenOf({})
})

async function tokenOf(change: Partial<Parameters<typeof signWit>[0]>, network = own): Promise<string> {
  const facts = { certificate: network.certificate, trustDomain: DOMAIN, now: NOW, notAfter: NOW + seconds(3600) }
  return (await signWit({ ...facts, ...change }, network.by.signer)).wit
}

const REQUEST: WimseRequest = {
  method: 'post',
  url: `${AUDIENCE}/print?copies=2`,
  audience: AUDIENCE,
  body: '{"a":1}',
  fields: { 'content-type': 'application/json', authorization: 'Bearer x', accept: '*/*' },
  now: NOW,
}

type Sent = Readonly<Record<string, string>>
const sign = async (change: Partial<WimseRequest> = {}, token = wit): Promise<Sent> => {
  const request = { ...REQUEST, ...change }
  return { ...request.fields, ...(await signWimseRequest(request, { signer: own.node, wit: token })) }
}

interface Judging {
  readonly method?: string
  readonly target?: string
  readonly body?: string
  readonly networks?: Readonly<Record<string, AcceptedWimse>>
  readonly nonces?: MemoryNonceStore
  readonly revoked?: readonly string[]
  readonly now?: bigint
}

const accepted = (): Readonly<Record<string, AcceptedWimse>> => ({
  agency: { trustDomain: DOMAIN, keys: () => [own.by.signer.publicKey] },
})

async function judge(headers: Sent, given: Judging = {}): Promise<string> {
  const { method = 'POST', target = '/print?copies=2', body = '{"a":1}', now = NOW } = given
  const party = await own.party(given.revoked ?? [], now)
  const verdict = await verifyWimse(
    { method, target, body: toUtf8(body), field: (name) => (headers[name] === undefined ? [] : [headers[name]]) },
    {
      audience: AUDIENCE,
      evaluate: (certificate, at) => party.evaluate(certificate, at),
      nonces: given.nonces ?? new MemoryNonceStore(),
      networks: given.networks ?? accepted(),
      at: now,
    },
  )
  return verdict.valid ? `ok ${verdict.caller.certificate.cert_id}` : verdict.reason
}

describe('a proof of WIMSE', () => {
  it('is spelled as the draft says', async () => {
    const { 'signature-input': input } = await sign()
    expect(input).toMatch(
      /^wimse=\("@method" "@request-target" "content-type" "content-digest" "authorization" "workload-identity-token"\);created=1893553200;expires=1893553260;nonce="[\w-]{36}";tag="wimse-workload-to-workload";wimse-aud="https:\/\/print\.example\.org"$/,
    )
    const bare = await sign({ body: '', fields: {} })
    expect(bare['signature-input']).toContain('("@method" "@request-target" "workload-identity-token");')
    expect(bare).not.toHaveProperty('content-digest')
  })

  it('is verified here, and by two other libraries', async () => {
    const headers = await sign()
    expect(await judge(headers)).toBe('ok cert-agency')
    const message = { headers, method: 'POST', url: REQUEST.url }
    expect(await firstReads(message, own.node.publicKey)).toBe(true)
    expect(await secondReads(message, own.node.publicKey, CREATED)).toBe(true)
    const other = { ...message, headers: { ...headers, authorization: 'Bearer y' } }
    expect(await firstReads(other, own.node.publicKey)).toBe(false)
    expect(await secondReads(other, own.node.publicKey, CREATED)).toBe(false)
  })

  it('of another library is verified, with another label, order and more fields', async () => {
    const { 'workload-identity-token': token = '', 'content-digest': digest = '' } = await sign()
    const headers = { 'workload-identity-token': token, 'content-digest': digest, accept: '*/*' }
    const made = await firstSigns(
      { headers, method: 'POST', url: REQUEST.url },
      {
        fields: ['workload-identity-token', '@request-target', 'accept', 'content-digest', '@method'],
        paramValues: {
          tag: 'wimse-workload-to-workload',
          'wimse-aud': AUDIENCE,
          nonce: 'bm9uY2Ugb2YgYW5vdGhlcg==',
          expires: new Date((CREATED + 30) * 1000),
          created: new Date(CREATED * 1000),
        },
        sign: (data) => own.node.sign(data),
      },
    )
    expect(made['signature-input']).toMatch(/^sig1=\("workload-identity-token" "@request-target"/)
    expect(await judge(made)).toBe('ok cert-agency')
    const several = {
      ...made,
      'signature-input': `proxy=("@method");created=1, wimse=${made['signature-input']?.slice(5) ?? ''}`,
      signature: `proxy=:${'A'.repeat(86)}==:, wimse=${made['signature']?.slice(5) ?? ''}`,
    }
    expect(await judge(several)).toBe('ok cert-agency')
  })
})

describe('verifyWimse refuses', () => {
  it.each<[string, Partial<Sent>, Judging, string]>([
    ['another method', {}, { method: 'PUT' }, 'signature_invalid'],
    ['another target', {}, { target: '/print?copies=3' }, 'signature_invalid'],
    ['another content type', { 'content-type': 'text/plain' }, {}, 'signature_invalid'],
    ['another authorization', { authorization: 'Bearer y' }, {}, 'signature_invalid'],
    ['another body', {}, { body: '{"a":2}' }, 'digest_mismatch'],
    ['a transaction token that is not covered', { 'txn-token': 'x' }, {}, 'proof_malformed'],
    ['a proof that is too old', {}, { now: NOW + seconds(61) }, 'proof_stale'],
    ['a proof that is ahead', {}, { now: NOW - seconds(31) }, 'proof_stale'],
    ['a revoked certificate', {}, { revoked: ['cert-agency'] }, 'certificate_untrusted'],
    ['an unknown network', {}, { networks: {} }, 'wit_untrusted'],
    ['a network named like a member of every object', {}, { networks: Object.create({}) as {} }, 'wit_untrusted'],
  ])('%s', async (_what, change, given, reason) => {
    expect(await judge({ ...(await sign()), ...change } as Sent, given)).toBe(reason)
  })

  it('another trust domain, another key of the authority, and a token of another network', async () => {
    const keys = (): readonly string[] => [own.by.signer.publicKey]
    expect(await judge(await sign(), { networks: { agency: { trustDomain: 'other.example', keys } } })).toBe(
      'wit_untrusted',
    )
    const forged = { agency: { trustDomain: DOMAIN, keys: () => [own.node.publicKey] } }
    expect(await judge(await sign(), { networks: forged })).toBe('wit_untrusted')
    const made = await signWit(
      { certificate: own.certificate, trustDomain: DOMAIN, now: NOW, notAfter: NOW + seconds(3600) },
      own.node,
    )
    expect(await judge(await sign({}, made.wit))).toBe('wit_untrusted')
  })

  it('a token that has ended, is ahead, or outlives its certificate', async () => {
    expect(await judge(await sign({}, await tokenOf({ notAfter: NOW })))).toBe('wit_expired')
    expect(await judge(await sign({}, await tokenOf({ now: NOW + seconds(31), notAfter: NOW + seconds(60) })))).toBe(
      'wit_expired',
    )
    const longer = { ...own.certificate, expires_at: '2030-01-02T03:30:00Z' }
    const claims = await tokenOf({ certificate: longer })
    const [, payload = ''] = claims.split('.')
    const text = Buffer.from(payload, 'base64url')
      .toString('utf8')
      .replace(/"exp":\d+/, `"exp":${CREATED + 7200}`)
    const jws = await signJws({ typ: 'wit+jwt' }, toUtf8(text), own.by.signer)
    expect(await judge(await sign({}, `${jws.protected}.${jws.payload}.${jws.signature}`))).toBe('wit_untrusted')
  })

  it('tokens of another form', async () => {
    const base = await sign()
    const [head = '', payload = '', signature = ''] = wit.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as JsonObject
    const resigned = async (change: JsonObject, header: JsonObject = { typ: 'wit+jwt' }): Promise<string> => {
      const jws = await signJws(header, toUtf8(writeJson({ ...claims, ...change })), own.by.signer)
      return `${jws.protected}.${jws.payload}.${jws.signature}`
    }
    const jwk = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x: toBase64Url(new Uint8Array(32).fill(1)) }
    for (const token of [
      '',
      'a.b',
      `${head}.${payload}.${signature}.x`,
      `${head}.${payload}x.${signature}`,
      'x'.repeat(9000),
      await resigned({}, { typ: 'JWT' }),
      await resigned({}, { typ: 'wit+jwt', crit: ['x'] }),
      await resigned({ exp: '1' }),
      await resigned({ exp: -1 }),
      await resigned({ cnf: { jwk } }),
      await resigned({ cnf: {} }),
      await resigned({ chancery_certificate: toBase64(toUtf8('{}')) }),
      await resigned({ chancery_certificate: 7 }),
    ])
      expect(await judge({ ...base, 'workload-identity-token': token }), token.slice(0, 40)).toBe('wit_malformed')
  })

  it.each<[string, (input: string) => string]>([
    ['a key id', (input) => `${input};keyid="x"`],
    ['an algorithm', (input) => `${input};alg="ed25519"`],
    ['another tag', (input) => input.replace('wimse-workload-to-workload', 'x')],
    ['no audience', (input) => input.replace(/;wimse-aud="[^"]*"/, '')],
    ['no nonce', (input) => input.replace(/;nonce="[^"]*"/, '')],
    ['no end', (input) => input.replace(/;expires=\d+/, '')],
    ['a parameter twice', (input) => `${input};created=1`],
    ['a component twice', (input) => input.replace('"@method"', '"@method" "@method"')],
    ['no method', (input) => input.replace('"@method" ', '')],
    ['no token', (input) => input.replace(' "workload-identity-token"', '')],
    ['no content digest', (input) => input.replace(' "content-digest"', '')],
    ['no authorization', (input) => input.replace(' "authorization"', '')],
    ['a derived component', (input) => input.replace('"@method"', '"@method" "@authority"')],
    ['a component with a parameter', (input) => input.replace('"@method"', '"@method";req')],
    ['something after it', (input) => `${input}, `],
    ['two of one label', (input) => `${input}, ${input}`],
    ['an absent field', (input) => input.replace('"@method"', '"@method" "x-absent"')],
    ['a long text', (input) => `${input};nonce="${'x'.repeat(3000)}"`],
  ])('a proof with %s', async (_what, change) => {
    const headers = await sign()
    expect(await judge({ ...headers, 'signature-input': change(headers['signature-input'] ?? '') })).toBe(
      'proof_malformed',
    )
  })

  it('another audience, a replay, a body without a digest, and a store that fails', async () => {
    expect(await judge(await sign({ audience: 'https://other.example' }))).toBe('wrong_audience')
    const nonces = new MemoryNonceStore()
    const headers = await sign()
    expect([await judge(headers, { nonces }), await judge(headers, { nonces })]).toEqual([
      'ok cert-agency',
      'proof_replayed',
    ])
    expect(await judge(await sign({ body: '' }), { body: 'x' })).toBe('digest_mismatch')
    expect(await judge(await sign(), { nonces: new MemoryNonceStore(0) })).toBe('nonces_unavailable')
  })

  it('to sign with the token of another key, or for an audience that a text cannot hold', async () => {
    const signing = (signer = own.node, audience = AUDIENCE): Promise<unknown> =>
      signWimseRequest({ ...REQUEST, audience }, { signer, wit })
    await expect(signing(own.by.signer)).rejects.toThrow('the token is of another key')
    await expect(signing(own.node, 'a"b')).rejects.toThrow('without quotes')
  })
})

describe('a service with this profile', () => {
  let close: (() => Promise<unknown>) | undefined
  afterEach(() => close?.())

  const profileOf = (networks: Readonly<Record<string, AcceptedWimse>>): VerifyingProfile => ({
    name: 'wimse',
    isUsed: (field) => field('workload-identity-token').length > 0,
    verify: (request, policy) => verifyWimse(request, { ...policy, networks }),
  })

  async function serve(
    options: Pick<AuthorizerOptions, 'profiles' | 'requireSignedAuthorization'>,
    seen: (caller: Caller) => void = () => undefined,
  ) {
    const authorizer = createAuthorizer({ audience: AUDIENCE, trust: await own.party(), clock: () => NOW, ...options })
    const server = createServer(
      authenticate(authorizer, (_request, response, { caller, body }) => {
        seen(caller)
        response.end(body)
      }),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    close = () => new Promise((resolve) => server.close(resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/print?copies=2`
  }

  const profile: SigningProfile = { name: 'wimse', sign: signWimseRequest }
  const call: typeof fetch = (...given) =>
    createSigningFetch(
      { signer: own.node, certificate: own.certificate, clock: () => NOW, wit: () => Promise.resolve(wit) },
      { audience: AUDIENCE, profile },
    )(...given)
  const INIT = { method: 'POST', body: '{"a":1}', headers: { authorization: 'Bearer x' } }

  it('accepts the profile when its options name the network', async () => {
    let caller: Caller | undefined
    const profiles = [profileOf(accepted())]
    const url = await serve({ profiles, requireSignedAuthorization: true }, (each) => (caller = each))
    const response = await call(url, INIT)
    expect([response.status, await response.text()]).toEqual([200, '{"a":1}'])
    expect(caller).toMatchObject({
      certificate: { cert_id: 'cert-agency' },
      roles: ['role:client'],
      attestation: undefined,
    })
    expect((await call(url)).status).toBe(200)
    expect(() => callerBasis(caller as Caller, { attestation_id: 'a' })).toThrow('a proof of WIMSE cannot be handed')
  })

  it('refuses it without that option, and an untrusted token with 403', async () => {
    expect((await call(await serve({}), INIT)).status).toBe(401)
    await close?.()
    const url = await serve({ profiles: [profileOf({ agency: { trustDomain: 'other.example', keys: () => [] } })] })
    const response = await call(url, INIT)
    expect([response.status, await response.json()]).toEqual([
      403,
      {
        error: expect.objectContaining({
          code: 'certificate_untrusted',
        }) as object,
      },
    ])
  })
})
