import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JoinCertificate, type Signer, instantOf, seedSigner, signList, toBase64 } from '@chancery/protocol'
import { type TestIssuer, testIssuer, testList } from '@chancery/testkit'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type SigningFetch, signingFetch } from '../request-proof/sign.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import { mcpNodeProof } from '../nodejs/mcp-proof.ts'
import { type McpAuthInfo, mcpCaller, mcpFetch, mcpWebProof } from './proof.ts'

const NOW = instantOf('2030-01-02T03:00:00Z')
const AUDIENCE = 'https://tools.example/mcp'
let by: TestIssuer
let signer: Signer
let certificate: JoinCertificate
let trust: RelyingParty
let prove: SigningFetch
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
  prove = signingFetch(() => ({ signer, certificate, audience: AUDIENCE, clock: () => NOW }))
})

let close: (() => void) | undefined
afterEach(() => close?.())

interface Received {
  readonly auth: McpAuthInfo | undefined
  readonly body: unknown
}

/** Serves, and returns the endpoint and what the handler received. */
async function serve(allowedOrigins?: readonly string[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const options = { audience: AUDIENCE, trust, clock: () => NOW, ...(allowedOrigins ? { allowedOrigins } : {}) }
  const server = createServer(
    mcpNodeProof(options, (request, response, body) => {
      received.push({ auth: request.auth, body })
      response.end('{}')
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => server.close()
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, received }
}

const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

describe('mcpNodeProof', () => {
  it('gives the handler the caller and the parsed body', async () => {
    const { url, received } = await serve()
    expect((await prove(url, { method: 'POST', body })).status).toBe(200)
    expect(received[0]).toMatchObject({
      auth: { clientId: 'cert-1', scopes: ['role:client'], expiresAt: 1_893_636_000 },
      body: { method: 'tools/list' },
    })
    expect(mcpCaller({ http: { authInfo: received[0]?.auth } })?.certificate.cert_id).toBe('cert-1')
    expect(mcpCaller({})).toBeUndefined()
  })

  it('refuses a request without a proof, and starts no OAuth', async () => {
    const { url, received } = await serve()
    const response = await fetch(url, { method: 'POST', body })
    expect([response.status, response.headers.get('www-authenticate'), received]).toEqual([401, null, []])
  })

  it('refuses the origin of a web page unless it is allowed', async () => {
    const headers = { origin: 'https://page.example' }
    const closed = await serve()
    expect((await prove(closed.url, { method: 'POST', body, headers })).status).toBe(403)
    expect(closed.received).toEqual([])
    close?.()
    const open = await serve(['https://page.example'])
    expect((await prove(open.url, { method: 'POST', body, headers })).status).toBe(200)
  })

  it('refuses a proved body that is not JSON, and passes on a request without a body', async () => {
    const { url, received } = await serve()
    const response = await prove(url, { method: 'POST', body: '{' })
    expect([response.status, received]).toEqual([400, []])
    expect(await response.json()).toMatchObject({ error: { code: -32_700 } })
    await prove(url)
    expect(received).toMatchObject([{ body: undefined }])
  })
})

describe('mcpWebProof', () => {
  it('gives the handler the request and the caller, and answers refusals itself', async () => {
    const seen: unknown[] = []
    const handle = mcpWebProof(
      { audience: AUDIENCE, trust, clock: () => NOW, normalisedTarget: 'accept' },
      {
        fetch: async (request, { authInfo }) => {
          seen.push([await request.json(), authInfo.clientId])
          return Response.json({ ok: true })
        },
      },
    )
    const through = signingFetch(() => ({
      signer,
      certificate,
      audience: AUDIENCE,
      clock: () => NOW,
      fetch: (url, init) => handle(new Request(url, init)),
    }))
    expect((await through(AUDIENCE, { method: 'POST', body })).status).toBe(200)
    expect(seen).toEqual([[{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, 'cert-1']])
    expect((await handle(new Request(AUDIENCE, { method: 'POST', body }))).status).toBe(401)
    const page = { origin: 'https://page.example' }
    expect((await through(AUDIENCE, { method: 'POST', body, headers: page })).status).toBe(403)
    expect(seen).toHaveLength(1)
  })
})

describe('mcpFetch', () => {
  it('proves requests to the endpoint only', async () => {
    const calls: string[] = []
    const note =
      (name: string): SigningFetch =>
      (input) => {
        calls.push(`${name} ${input instanceof Request ? input.url : String(input)}`)
        return Promise.resolve(new Response())
      }
    const choose = mcpFetch(AUDIENCE, note('proved'), note('plain'))
    await choose(AUDIENCE)
    await choose(new URL(`${AUDIENCE}?a=1`))
    await choose(new Request(AUDIENCE))
    await choose('https://tools.example/.well-known/oauth-protected-resource')
    await choose('https://login.example/mcp')
    expect(calls.map((call) => call.split(' ')[0])).toEqual(['proved', 'proved', 'proved', 'plain', 'plain'])
  })
})
