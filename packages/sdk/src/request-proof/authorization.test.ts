import { contentDigest, seconds, toUtf8 } from '@chancery/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { type CardNetwork, NOW, cardNetwork } from '../a2a/card.suite.ts'
import { callerBasis } from './caller-basis.ts'
import { firstReads, secondReads } from './readers.suite.ts'
import { type Authentication, type AuthorizerOptions, coreOf, createAuthorizer } from './authorizer.ts'
import { signRequest, createSigningFetch } from './sign.ts'

const AUDIENCE = 'https://print.example.org'
let own: CardNetwork
beforeAll(async () => {
  own = await cardNetwork('agency')
})

type Sent = Readonly<Record<string, string>>
const ABOUT = { method: 'POST', url: `${AUDIENCE}/print`, body: 'x', audience: AUDIENCE, now: NOW }

async function sign(authorization?: string): Promise<Sent> {
  const about = authorization === undefined ? ABOUT : { ...ABOUT, authorization }
  return signRequest(about, { signer: own.node, certificate: own.certificate })
}

type Options = Pick<AuthorizerOptions, 'requireSignedAuthorization'>

async function check(headers: Sent, options: Options = {}): Promise<Authentication> {
  const authorizer = createAuthorizer({ audience: AUDIENCE, trust: await own.party(), clock: () => NOW, ...options })
  const field = (name: string): readonly string[] => (headers[name] === undefined ? [] : [headers[name]])
  return coreOf(authorizer).authenticate({
    method: 'POST',
    target: '/print',
    field,
    body: () => Promise.resolve(toUtf8('x')),
  })
}

async function reason(headers: Sent, options: Options = {}): Promise<string> {
  const result = await check(headers, options)
  if (result.ok) return 'ok'
  return 'reason' in result.refusal ? result.refusal.reason : result.refusal.code
}

const REQUIRED = { requireSignedAuthorization: true }

describe('a proof that covers Authorization', () => {
  it('has it as the last component, and is otherwise that of profile v1', async () => {
    const { 'signature-input': input } = await sign('Bearer x')
    expect(input).toContain('"chancery-certificate" "authorization");created=1893553200;')
    expect(input).toContain('tag="chancery-node-v1"')
    expect((await sign())['signature-input']).not.toContain('authorization')
  })

  it('is accepted with that value, also by two other libraries, and with no other', async () => {
    const headers = { ...(await sign('Bearer x')), authorization: 'Bearer x' }
    const message = { headers, method: 'POST', url: ABOUT.url }
    expect([await reason(headers), await reason(headers, REQUIRED)]).toEqual(['ok', 'ok'])
    expect(await firstReads(message, own.node.publicKey)).toBe(true)
    expect(await secondReads(message, own.node.publicKey, Number(NOW / seconds(1)))).toBe(true)
    expect(await reason({ ...headers, authorization: 'Bearer y' })).toBe('signature_invalid')
    expect(await reason(await sign('Bearer x'))).toBe('proof_malformed')
  })

  it('does not hand the value to the handler, nor the proof to the authority', async () => {
    const result = await check({ ...(await sign('Bearer x')), authorization: 'Bearer x' })
    if (!result.ok) throw new Error('refused')
    expect(JSON.stringify(result.caller.proof.headers)).not.toContain('Bearer')
    expect(() => callerBasis(result.caller, { attestation_id: 'a' })).toThrow('covers Authorization')
  })

  it('is required by a setting only', async () => {
    const uncovered = { ...(await sign()), authorization: 'Bearer x' }
    expect([await reason(uncovered), await reason(uncovered, REQUIRED)]).toEqual(['ok', 'authorization_not_covered'])
    expect(await reason(await sign(), REQUIRED)).toBe('ok')
    expect(await reason({ authorization: 'Bearer x' }, REQUIRED)).toBe('proof_missing')
  })

  it('is made by createSigningFetch for requests with that field, when it is asked to', async () => {
    const sent: Headers[] = []
    const fetch = (_url: string, init: RequestInit): Promise<Response> => {
      sent.push(new Headers(init.headers))
      return Promise.resolve(new Response())
    }
    const identity = { signer: own.node, certificate: own.certificate, clock: () => NOW, fetch }
    const init = { method: 'POST', body: 'x', headers: { authorization: 'Bearer x' } }
    await createSigningFetch(identity, { audience: AUDIENCE })(ABOUT.url, init)
    await createSigningFetch(identity, { audience: AUDIENCE, signAuthorization: true })(ABOUT.url, init)
    await createSigningFetch(identity, { audience: AUDIENCE, signAuthorization: true })(ABOUT.url, {
      method: 'POST',
      body: 'x',
    })
    expect(sent.map((each) => each.get('signature-input')?.includes('"authorization"'))).toEqual([false, true, false])
    expect(sent[1]?.get('content-digest')).toBe(contentDigest(toUtf8('x')))
    expect(await reason(Object.fromEntries(sent[1] ?? []), REQUIRED)).toBe('ok')
  })
})
