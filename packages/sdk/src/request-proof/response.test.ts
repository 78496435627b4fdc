import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { seconds, signWit } from '@chancery/protocol'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type CardNetwork, NOW, cardNetwork } from '../a2a/card.suite.ts'
import { VerificationError } from '../errors.ts'
import { authenticate } from '../nodejs/node-http.ts'
import { createAuthorizer } from './authorizer.ts'
import { firstReads, secondReads } from './readers.suite.ts'
import { type ResponseCheck, type ResponseSigner, signResponse } from './response.ts'
import { createSigningFetch } from './sign.ts'
import { signWimseRequest, verifyWimse } from './wimse.ts'
import type { Caller } from './caller.ts'
import type { SigningProfile, VerifyingProfile } from './profile.ts'

const AUDIENCE = 'https://print.example.org'
const DOMAIN = 'agency.example.org'
let own: CardNetwork
/** Another network whose node is the service. */
let service: CardNetwork
beforeAll(async () => {
  own = await cardNetwork('agency')
  service = await cardNetwork('printers')
})

let close: (() => Promise<unknown>) | undefined
afterEach(() => close?.())

type Fields = Readonly<Record<string, string>>
interface Answer {
  readonly status: number
  readonly body: string
  readonly type: string
}
const ANSWER: Answer = { status: 201, body: '{"job":7}', type: 'application/json' }

async function tokenOf({ certificate, by }: CardNetwork): Promise<string> {
  const facts = { certificate, trustDomain: DOMAIN, now: NOW, notAfter: NOW + seconds(3600) }
  return (await signWit(facts, by.signer)).wit
}

const accepted = (network: CardNetwork) => ({ trustDomain: DOMAIN, keys: () => [network.by.signer.publicKey] })

/** A service whose responses pass through `change` after they were signed. */
async function serve(
  by: () => Promise<ResponseSigner>,
  change: (fields: Fields, answer: Answer, caller: Caller) => [Fields, Answer] = (fields, answer) => [fields, answer],
): Promise<string> {
  const networks = { agency: accepted(own) }
  const profile: VerifyingProfile = {
    name: 'wimse',
    isUsed: (field) => field('workload-identity-token').length > 0,
    verify: (request, policy) => verifyWimse(request, { ...policy, networks }),
  }
  const options = { audience: AUDIENCE, trust: await own.party(), clock: () => NOW, profiles: [profile] }
  const server = createServer(
    authenticate(createAuthorizer(options), async (_request, response, { caller }) => {
      const toSign = { status: ANSWER.status, body: ANSWER.body, contentType: ANSWER.type, now: NOW }
      const fields = await signResponse(caller, toSign, await by())
      const [headers, { status, body, type }] = change(fields, ANSWER, caller)
      response.writeHead(status, { ...headers, 'content-type': type }).end(body)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/print?copies=2`
}

type Checking = Partial<ResponseCheck> & { readonly at?: bigint }

async function call(url: string, { at = NOW, ...check }: Checking = {}, isWimse = false): Promise<Response> {
  const responses: ResponseCheck = {
    trust: await service.party(),
    isService: ({ cert_id }) => cert_id === 'cert-printers',
    wimse: { printers: accepted(service) },
    ...check,
  }
  const wit = await tokenOf(own)
  // The second reading of the clock is that of the response.
  const times = [NOW]
  const clock = (): bigint => times.shift() ?? at
  const identity = { signer: own.node, certificate: own.certificate, clock, wit: () => Promise.resolve(wit) }
  const profile: SigningProfile = { name: 'wimse', sign: signWimseRequest }
  const options = { audience: AUDIENCE, responses, ...(isWimse ? { profile } : {}) }
  const fetching = createSigningFetch(identity, options)
  return fetching(url, { method: 'POST', body: 'x' })
}

async function problem(url: string, check: Checking = {}): Promise<string> {
  try {
    await call(url, check)
    return 'ok'
  } catch (error) {
    if (error instanceof VerificationError) return error.reason
    throw error
  }
}

const byCertificate = (): Promise<ResponseSigner> =>
  Promise.resolve({ signer: service.node, certificate: service.certificate })
const byToken = async (): Promise<ResponseSigner> => ({ signer: service.node, wit: await tokenOf(service) })

describe('a signed response', () => {
  it.each([
    ['a certificate', byCertificate, false],
    ['a token', byToken, true],
  ] as const)('with %s is accepted, and its body can be read', async (_what, by, isWimse) => {
    const response = await call(await serve(by), {}, isWimse)
    expect([response.status, await response.json()]).toEqual([201, { job: 7 }])
  })

  it.each([
    ['a certificate', byCertificate],
    ['a token', byToken],
  ] as const)('with %s is verified by two other libraries', async (_what, by) => {
    let target = ''
    const url = await serve(by, (fields, answer, { proof }) => {
      target = proof.target
      return [fields, answer]
    })
    const response = await call(url)
    const headers = Object.fromEntries(response.headers)
    const message = { headers, method: 'POST', url: new URL(target, AUDIENCE).href, status: 201 }
    expect(await firstReads(message, service.node.publicKey)).toBe(true)
    expect(await secondReads(message, service.node.publicKey, Number(NOW / seconds(1)))).toBe(true)
    expect(await firstReads({ ...message, status: 200 }, service.node.publicKey)).toBe(false)
    expect(await firstReads({ ...message, url: `${AUDIENCE}/other` }, service.node.publicKey)).toBe(false)
  })

  it('names the nonce of the request', async () => {
    let nonce = ''
    const url = await serve(byToken, (fields, answer, { proof }) => {
      nonce = /nonce="([^"]+)"/.exec(proof.headers['signature-input'])?.[1] ?? ''
      return [fields, answer]
    })
    const response = await call(url)
    expect(response.headers.get('signature-input')).toContain(`;wimse-req-nonce="${nonce}"`)
    expect(response.headers.get('signature-input')).toContain(
      '("@status" "content-digest" "content-type" "workload-identity-token" "@method";req "@request-target";req)',
    )
  })
})

describe('a response is refused', () => {
  it.each<[string, (fields: Fields, answer: Answer) => [Fields, Answer], string]>([
    ['without a signature', (_fields, answer) => [{}, answer], 'response_unsigned'],
    ['with another status', (fields, answer) => [fields, { ...answer, status: 200 }], 'response_signature_invalid'],
    ['with another body', (fields, answer) => [fields, { ...answer, body: '{"job":8}' }], 'digest_mismatch'],
    ['with another type', (fields, answer) => [fields, { ...answer, type: 'text/html' }], 'response_signature_invalid'],
    [
      'with two identities',
      (fields, answer) => [{ ...fields, 'workload-identity-token': 'x' }, answer],
      'response_unsigned',
    ],
    [
      'that was made for another request',
      (fields, answer) => [
        {
          ...fields,
          'signature-input': (fields['signature-input'] ?? '').replace(/nonce="[^"]*"/, `nonce="${'n'.repeat(20)}"`),
        },
        answer,
      ],
      'response_malformed',
    ],
  ])('%s', async (_what, change, reason) => {
    expect(await problem(await serve(byCertificate, change))).toBe(reason)
  })

  it('when it answered an earlier request of the same node', async () => {
    let earlier: Fields | undefined
    const url = await serve(byCertificate, (fields, answer) => [(earlier ??= fields), answer])
    expect([await problem(url), await problem(url)]).toEqual(['ok', 'response_malformed'])
  })

  it('when it answered the request of another node that used the same nonce', async () => {
    let made: Fields | undefined
    const url = await serve(byCertificate, (fields, answer, { proof }) => {
      made ??= fields
      // As if another node had sent its proof with the nonce of this request.
      const nonce = /nonce="[^"]*"/.exec(proof.headers['signature-input'])?.[0] ?? ''
      const input = (made['signature-input'] ?? '').replace(/nonce="[^"]*"/, nonce)
      return [{ ...made, 'signature-input': input }, answer]
    })
    expect([await problem(url), await problem(url)]).toEqual(['ok', 'response_malformed'])
  })

  it('to be signed for a nonce that was not verified', async () => {
    let signed = ''
    const url = await serve(byToken, (fields, answer) => {
      signed = fields['signature-input'] ?? ''
      return [fields, answer]
    })
    const identity = { signer: own.node, wit: await tokenOf(own) }
    const body = new TextEncoder().encode('x')
    const fields = await signWimseRequest({ method: 'POST', url, body, audience: AUDIENCE, now: NOW }, identity)
    const stray = `x=("@method");nonce="${'s'.repeat(20)}"`
    const headers = { ...fields, 'signature-input': `${stray}, ${fields['signature-input']}` }
    const response = await fetch(url, { method: 'POST', body, headers })
    expect(response.status).toBe(201)
    const nonce = /;nonce="([^"]+)"/.exec(fields['signature-input'] ?? '')?.[1]
    expect(signed).toContain(`;wimse-req-nonce="${nonce}"`)
  })

  it('when it is old, of another node, of a revoked node, or too long', async () => {
    const url = await serve(byCertificate)
    expect(await problem(url, { at: NOW + seconds(61) })).toBe('response_stale')
    expect(await problem(url, { isService: ({ roles }) => roles.includes('role:printer') })).toBe('wrong_service')
    expect(await problem(url, { trust: await service.party(['cert-printers']) })).toBe('certificate_untrusted')
    expect(await problem(url, { trust: await own.party() })).toBe('certificate_untrusted')
    expect(await problem(url, { maxBodyBytes: 4 })).toBe('response_too_large')
  })

  it('when its token is not one of an accepted network', async () => {
    const url = await serve(byToken)
    expect(await problem(url, { wimse: {} })).toBe('wit_untrusted')
    expect(await problem(url, { wimse: { printers: accepted(own) } })).toBe('wit_untrusted')
  })

  it('to be signed with the certificate or token of another key', async () => {
    const caller = {
      proof: {
        method: 'GET',
        target: '/',
        headers: {},
        verified: { nonce: 'n'.repeat(16), signature: `${'A'.repeat(86)}==` },
      },
    }
    const by = { signer: own.node, certificate: service.certificate }
    await expect(signResponse(caller as unknown as Caller, { status: 200 }, by)).rejects.toThrow('of another key')
    const token = { signer: own.node, wit: await tokenOf(service) }
    await expect(signResponse(caller as unknown as Caller, { status: 200 }, token)).rejects.toThrow('of another key')
  })
})
