import { type JoinCertificate, type Signer, instantOf, seedSigner, signList, toBase64 } from '@chancery/protocol'
import { type TestIssuer, testIssuer, testList } from '@chancery/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { type SigningFetch, createSigningFetch } from '../request-proof/sign.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import { createAuthorizer } from '../request-proof/authorizer.ts'
import { authenticate } from '../servers/web.ts'
import { authInfoOf, callerOf, createMcpFetch } from './auth-info.ts'

const NOW = instantOf('2030-01-02T03:00:00Z')
const AUDIENCE = 'https://tools.example/mcp'
let by: TestIssuer
let signer: Signer
let certificate: JoinCertificate
let trust: RelyingParty
beforeAll(async () => {
  by = await testIssuer('agency')
  signer = await seedSigner('node', toBase64(new Uint8Array(32).fill(7)))
  const draft = {
    cert_id: 'cert-1',
    node_public_key: signer.publicKey,
    network_name: 'agency',
    roles: ['role:client'],
    issued_at: '2030-01-02T02:00:00Z',
    expires_at: '2030-01-03T02:00:00Z',
    issued_by: by.keyId,
    signatures: [],
  }
  certificate = await signList(draft, by.signer)
  const crl = await testList(by, NOW, {})
  trust = await RelyingParty.open({ network: 'agency', anchors: { [by.keyId]: by.signer.publicKey }, crl })
})

describe('authInfoOf', () => {
  it('gives handlers the caller of authenticate()', async () => {
    const seen: unknown[] = []
    const authorizer = createAuthorizer({ audience: AUDIENCE, trust, clock: () => NOW })
    const serve = authenticate(authorizer, async (request, { caller }) => {
      const authInfo = authInfoOf(caller)
      seen.push(await request.json(), authInfo.clientId, authInfo.scopes, authInfo.expiresAt)
      return Response.json({ network: callerOf({ http: { authInfo } })?.network })
    })
    const through = createSigningFetch(
      { signer, certificate, clock: () => NOW, fetch: (url, init) => serve(new Request(url, init)) },
      { audience: AUDIENCE },
    )
    const response = await through(AUDIENCE, { method: 'POST', body: '{"id":1}' })
    expect(await response.json()).toEqual({ network: 'agency' })
    expect(seen).toEqual([{ id: 1 }, 'cert-1', ['role:client'], 1_893_636_000])
    expect([callerOf({}), callerOf(undefined)]).toEqual([undefined, undefined])
    expect((await serve(new Request(AUDIENCE))).status).toBe(401)
  })
})

describe('createMcpFetch', () => {
  it('proves requests to the endpoint only', async () => {
    const calls: string[] = []
    const note =
      (name: string): SigningFetch =>
      (input) => {
        calls.push(`${name} ${input instanceof Request ? input.url : String(input)}`)
        return Promise.resolve(new Response())
      }
    const choose = createMcpFetch(AUDIENCE, note('proved'), note('plain'))
    await choose(AUDIENCE)
    await choose(new URL(`${AUDIENCE}?a=1`))
    await choose(new Request(AUDIENCE))
    await choose('https://tools.example/.well-known/oauth-protected-resource')
    await choose('https://login.example/mcp')
    expect(calls.map((call) => call.split(' ')[0])).toEqual(['proved', 'proved', 'proved', 'plain', 'plain'])
  })
})
