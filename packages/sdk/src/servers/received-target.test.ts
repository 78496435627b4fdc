import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type JoinCertificate, type Signer, instantOf, seedSigner, signList, toBase64 } from '@chancery/protocol'
import { testIssuer, testList } from '@chancery/testkit'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorizer } from '../request-proof/authorizer.ts'
import { signRequest } from '../request-proof/sign.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import * as onExpress from './express.ts'
import * as onFastify from './fastify.ts'
import * as onHono from './hono.ts'
import * as onHttp from '../nodejs/node-http.ts'

/** A proof is about the target as received: what a server or its routes make of it is not what the node signed. */
const NOW = instantOf('2030-01-02T03:00:00Z')
const AUDIENCE = 'https://print.example.org'
let signer: Signer
let certificate: JoinCertificate
let trust: RelyingParty
let close: (() => unknown) | undefined
beforeAll(async () => {
  const by = await testIssuer('agency')
  signer = await seedSigner('node', toBase64(new Uint8Array(32).fill(7)))
  certificate = await signList(
    {
      cert_id: 'cert-1',
      node_public_key: signer.publicKey,
      network_name: 'agency',
      roles: ['role:client'],
      issued_at: '2030-01-02T02:00:00Z',
      expires_at: '2030-01-03T02:00:00Z',
      issued_by: by.keyId,
      signatures: [],
    },
    by.signer,
  )
  const crl = await testList(by, NOW, {})
  trust = await RelyingParty.open({ network: 'agency', anchors: { [by.keyId]: by.signer.publicKey }, crl })
})
afterEach(() => close?.())

const authorizer = () => createAuthorizer({ audience: AUDIENCE, trust, clock: () => NOW })

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => server.close()
  return (server.address() as AddressInfo).port
}

type ExpressApp = ((request: IncomingMessage, response: ServerResponse) => void) & {
  use(path: string, ...handlers: unknown[]): void
}
const EXPRESS = 'express'
/** Loaded by name: it is installed with the MCP packages, whose servers use it. */
const HONO_SERVER = '@hono/node-server'
type Serve = (options: object) => Server

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  'node:http': () => listen(onHttp.authenticate(authorizer(), (_request, response) => void response.end('reached'))),
  // Mounted: `url` is without the path of the mount.
  express: async () => {
    const { default: express } = (await import(EXPRESS)) as { default: () => ExpressApp }
    const app = express()
    app.use('/', onExpress.authenticate(authorizer()), (_request: unknown, response: ServerResponse) =>
      response.end('reached'),
    )
    return listen(app)
  },
  'node:http, mounted in express': async () => {
    const { default: express } = (await import(EXPRESS)) as { default: () => ExpressApp }
    const app = express()
    for (const path of ['/a', '/x', '/'])
      app.use(
        path,
        onHttp.authenticate(authorizer(), (_request, response) => void response.end('reached')),
      )
    return listen(app)
  },
  'fastify with rewriteUrl': async () => {
    const app = fastify({ rewriteUrl: ({ url = '' }) => url.replace('/x/..', '').replace('/./', '/') })
    await app.register(onFastify.authenticate, { authorizer: authorizer() })
    app.all('/*', () => 'reached')
    await app.listen({ port: 0, host: '127.0.0.1' })
    close = () => app.close()
    return (app.server.address() as AddressInfo).port
  },
  hono: async () => {
    const app = new Hono().use(onHono.authenticate(authorizer()) as never).all('/*', (c) => c.text('reached'))
    const { serve } = (await import(HONO_SERVER)) as { serve: Serve }
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
    close = () => server.close()
    return (server.address() as AddressInfo).port
  },
}

/** Signs one target and sends another, byte for byte. */
async function send(port: number, signed: string, sent: string): Promise<string> {
  const proof = await signRequest({ method: 'GET', url: signed, audience: AUDIENCE, now: NOW }, { signer, certificate })
  const lines = Object.entries(proof).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET ${sent} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${lines.join('')}\r\n`),
    )
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

describe.each(Object.keys(SERVERS))('%s', (name) => {
  it('passes the signed target, and no other that would be normalised or rewritten to it', async () => {
    const port = (await SERVERS[name]?.()) ?? 0
    for (const target of ['/a', '/a?b=1&c=%20d', '/x/b']) expect(await send(port, target, target)).toContain('reached')
    for (const sent of ['/x/../a', '/x/%2e%2e/a', '/./a', '/a#x', '//a', 'http://h/a'])
      expect([sent, await send(port, '/a', sent)]).toEqual([sent, expect.not.stringContaining('reached')])
    expect(await send(port, '/a/b', '/a\\b')).not.toContain('reached')
  })
})

it('is that of the normalised address where the server knows no other: the handler sees the same one', async () => {
  const app = new Hono().use(onHono.authenticate(authorizer()) as never).all('/*', (c) => c.text(`at ${c.req.path}`))
  const url = `${AUDIENCE}/x/../a`
  const prove = () => signRequest({ method: 'GET', url: '/a', audience: AUDIENCE, now: NOW }, { signer, certificate })
  const answer = await app.fetch(new Request(url, { headers: { ...(await prove()) } }))
  expect(await answer.text()).toBe('at /a')
})
