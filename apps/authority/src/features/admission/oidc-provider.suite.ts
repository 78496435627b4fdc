import { createServer, request } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error -- the package has no types, and the test needs one constructor of it
import { Provider as UntypedProvider } from 'oidc-provider'
import type { TestCa } from '@chancery/testkit'

type Callback = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>
const Provider = UntypedProvider as new (issuer: string, options: object) => { callback(): Callback }

const SECRET = 's'.repeat(40)

/** A certified third-party provider over TLS, with the clients `workload` and `stranger`. */
export interface OidcProvider {
  readonly issuer: string
  /** A token of a client. The caller chooses the audience by the parameter resource. */
  mint(client: string, resource: string): Promise<string>
  stop(): Promise<void>
}

export async function startOidcProvider(ca: TestCa): Promise<OidcProvider> {
  const { cert, key } = ca.issue('provider')
  const server = createServer({ cert, key })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
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
  return {
    issuer,
    mint: (client, resource) => mint({ issuer, ca: ca.cert, client, resource }),
    async stop() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

interface Minting {
  readonly issuer: string
  readonly ca: string
  readonly client: string
  readonly resource: string
}

function mint({ issuer, ca, client, resource }: Minting): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client,
    client_secret: SECRET,
    scope: 'join',
    resource,
  }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return new Promise((resolve, reject) => {
    const sent = request(`${issuer}/token`, { method: 'POST', ca, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve((JSON.parse(text) as { access_token?: string }).access_token ?? text))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
