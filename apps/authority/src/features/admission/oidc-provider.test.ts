import { createServer, request } from 'node:https'
import type { Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error -- the package has no types, and the test needs one constructor of it
import { Provider as UntypedProvider } from 'oidc-provider'
import { joinAudience } from '@chancery/protocol'
import { TestCa, accepted, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'

type Callback = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>
const Provider = UntypedProvider as new (issuer: string, options: object) => { callback(): Callback }

const SECRET = 's'.repeat(40)
const ca = new TestCa()
const folder = mkdtempSync(join(tmpdir(), 'chancery-provider-'))
let server: Server
let issuer: string
let na: TestAuthority

// A certified third-party provider over TLS. The caller chooses the audience by the parameter resource.
beforeAll(async () => {
  const { cert, key } = ca.issue('provider')
  server = createServer({ cert, key })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), kid: 'p1', use: 'sig', alg: 'RS256' }
  const provider = new Provider(issuer, {
    jwks: { keys: [jwk] },
    clients: ['workload', 'stranger'].map((client_id) => ({
      client_id,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'join',
          audience: resource,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt' as const,
          jwt: { sign: { alg: 'RS256' as const } },
        }),
      },
    },
  })
  const respond = provider.callback()
  server.on('request', (incoming, response) => void respond(incoming, response))
  writeFileSync(join(folder, 'roots.pem'), ca.cert)
  const settings = { NA_ADMISSION_ADDRESSES: 'loopback', NA_ADMISSION_CA_FILE: join(folder, 'roots.pem') }
  na = await startTestAuthority({ settings })
  const rule = { rule_id: 'provider', kind: 'oidc', issuer, jwks_url: `${issuer}/jwks` }
  const required_claims = { sub: ['workload'], client_id: ['workload'] }
  accepted(await na.as('privileged')('POST', '/admin/admission-rules', { ...rule, required_claims }), 201)
})
afterAll(async () => {
  await na.stop()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  ca.remove()
  rmSync(folder, { recursive: true, force: true })
})

function mint(client_id: string, resource: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id,
    client_secret: SECRET,
    scope: 'join',
    resource,
  }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return new Promise((resolve, reject) => {
    const sent = request(`${issuer}/token`, { method: 'POST', ca: ca.cert, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve((JSON.parse(text) as { access_token?: string }).access_token ?? text))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const authorityKey = (): string => na.genesis.network_authority.public_key

async function joinAs(client: string, audienceOf: (key: string) => string): Promise<TestResponse> {
  const node = await newNodeCaller(na.url, 'provider', systemClock)
  const token = await mint(client, audienceOf(node.key))
  return node.post('/join', { evidence: { rule_id: 'provider', token } })
}

it('admits a token of a real provider with the bound audience', async () => {
  accepted(await joinAs('workload', (key) => joinAudience(authorityKey(), key)), 201)
})

it.each([
  ['another client of the provider', 'stranger', 'claims_mismatch', (key: string) => joinAudience(authorityKey(), key)],
  ['the plain audience', 'workload', 'audience_mismatch', () => joinAudience(authorityKey())],
  ['another service', 'workload', 'audience_mismatch', () => 'https://service.example/'],
])('refuses a token of %s', async (_what, client, reason, audienceOf) => {
  const details = refused(await joinAs(client, audienceOf), 403, 'evidence_refused')['details']
  expect(details).toEqual({ reason })
})
