import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error -- the package has no types, and the test needs one constructor of it
import { Provider as UntypedProvider } from 'oidc-provider'
import { TestCa, startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal } from '../test-gateway.suite.ts'

type Callback = (request: IncomingMessage, response: ServerResponse) => Promise<void>
const Provider = UntypedProvider as new (issuer: string, options: object) => { callback(): Callback }

/** A certified third-party provider over TLS, trusted through GATEWAY_CA_FILE. */
const AUDIENCE = 'urn:chancery:gateway'
const SECRET = 's'.repeat(40)
const ca = new TestCa()
let server: Server
let issuer: string
let gateway: TestGateway
let fetches = 0

beforeAll(async () => {
  const leaf = ca.issue('provider')
  server = createServer({ cert: leaf.cert, key: leaf.key })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const key = { ...(await exportJWK(privateKey)), kid: 'ed1', use: 'sig', alg: 'EdDSA' }
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: ['bound', 'unbound'].map((client_id) => ({
      client_id,
      client_secret: SECRET,
      id_token_signed_response_alg: 'EdDSA',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    extraTokenClaims: () => ({ team: 'blue' }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({
          scope: 'verify',
          audience: AUDIENCE,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt' as const,
          jwt: { sign: { alg: 'EdDSA' as const } },
        }),
      },
    },
  })
  const respond = provider.callback()
  server.on('request', (request, response) => {
    if (request.url === '/jwks') fetches += 1
    void respond(request, response)
  })
  gateway = await startOidcGateway({ team: 'blue' })
})
afterAll(async () => {
  await gateway.stop()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  ca.remove()
})

async function startOidcGateway(required_claims: Record<string, string>): Promise<TestGateway> {
  const by = await testIssuer('agency')
  const { token_sha256: _none, ...entry } = testClient('svc', ['agency']).entry
  const policy = testPolicy({ agency: testNetwork(by, await testList(by, systemClock.now())) }, [{ token: '', entry }])
  const oidc = {
    issuer,
    audience: AUDIENCE,
    jwks_url: `${issuer}/jwks`,
    bindings: [{ subject: 'bound', client_id: 'svc', required_claims }],
  }
  const files = { 'oidc.json': JSON.stringify(oidc), 'roots.pem': ca.cert }
  const settings = { GATEWAY_OIDC_FILE: '{home}/oidc.json', GATEWAY_CA_FILE: '{home}/roots.pem' }
  return startTestGateway({ policy, files, settings })
}

async function mint(client: string): Promise<string> {
  const { request } = await import('node:https')
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client,
    client_secret: SECRET,
    scope: 'verify',
  }).toString()
  return new Promise((resolve, reject) => {
    const sent = request(
      `${issuer}/token`,
      { method: 'POST', ca: ca.cert, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => {
          resolve((JSON.parse(text) as { access_token: string }).access_token)
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('tokens of a real provider', () => {
  it('200: a bound subject acts as its client', async () => {
    const token = await mint('bound')
    const ask = async (): Promise<unknown[]> => {
      const { status, body } = await gateway.request('GET', '/v1/networks', { token })
      return [status, body['client_id']]
    }
    // The keys of the provider are fetched after the start.
    await expect.poll(ask, { interval: 200 }).toEqual([200, 'svc'])
    expect(fetches).toBeGreaterThan(0)
  })

  it('401: an unbound subject, a changed token, an unknown key id', async () => {
    const token = await mint('bound')
    const [head = '', claims = '', signature = ''] = token.split('.')
    const forged = Buffer.from(
      JSON.stringify({
        ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object),
        sub: 'bound',
        aud: 'x',
      }),
    )
    const foreign = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'other' })).toString('base64url')
    for (const bad of [
      await mint('unbound'),
      `${head}.${forged.toString('base64url')}.${signature}`,
      `${foreign}.${claims}.${signature}`,
      `${head}.${claims}.`,
    ]) {
      expectRefusal(
        await gateway.request('GET', '/v1/networks', { token: bad }),
        401,
        'unauthorized',
        'credential_invalid',
      )
    }
  })

  it('401: a missing required claim', async () => {
    const strict = await startOidcGateway({ team: 'blue', env: 'prod' })
    try {
      await new Promise((done) => setTimeout(done, 400))
      const response = await strict.request('GET', '/v1/networks', { token: await mint('bound') })
      expectRefusal(response, 401, 'unauthorized', 'credential_invalid')
    } finally {
      await strict.stop()
    }
  })

  it('invented key ids do not cause repeated fetches', async () => {
    const before = fetches
    const claims = (await mint('bound')).split('.').slice(1).join('.')
    const tokens = Array.from(
      { length: 40 },
      (_, n) => `${Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: `bogus-${n}` })).toString('base64url')}.${claims}`,
    )
    const answers = await Promise.all(tokens.map((token) => gateway.request('GET', '/v1/networks', { token })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    expect(fetches - before).toBeLessThanOrEqual(1)
  })
})
