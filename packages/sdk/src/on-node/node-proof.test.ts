import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { Hono } from 'hono'
import { HOUR, instantOf, seedSigner, signList, toBase64 } from '@chancery/protocol'
import type { JoinCertificate, Signer } from '@chancery/protocol'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { testIssuer, testList } from '@chancery/testkit'
import type { TestIssuer } from '@chancery/testkit'
import { honoNodeProof } from '../request-proof/hono.ts'
import type { GuardOptions } from '../request-proof/guard.ts'
import { provingFetch, proveRequest } from '../request-proof/sign.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import { expressNodeProof, fastifyNodeProof, httpNodeProof } from './node-proof.ts'

const NOW = instantOf('2030-01-02T03:00:00Z')
const EXPRESS: string = 'express'
const AUDIENCE = 'https://print.example.org'
let by: TestIssuer
let node: Signer
let certificate: JoinCertificate
let party: RelyingParty
beforeAll(async () => {
  by = await testIssuer('agency')
  node = await seedSigner('node', toBase64(new Uint8Array(32).fill(7)))
  const draft = {
    cert_id: 'cert-1',
    node_public_key: node.publicKey,
    network_name: 'agency',
    roles: ['role:client'],
    issued_at: '2030-01-02T02:00:00Z',
    expires_at: '2030-01-03T02:00:00Z',
    issued_by: by.keyId,
    signatures: [],
  }
  certificate = await signList(draft, by.signer)
  party = await openParty([])
})

async function openParty(revoked: readonly string[]): Promise<RelyingParty> {
  const crl = await testList(by, NOW, { entries: revoked.map((certificate_id) => ({ certificate_id })) })
  return RelyingParty.open({ network: 'agency', anchors: { [by.keyId]: by.signer.publicKey }, crl })
}

interface Served {
  readonly url: string
  close(): Promise<unknown>
}
let served: Served | undefined
afterEach(() => served?.close())

const options = (): GuardOptions => ({ audience: AUDIENCE, trust: party, clock: () => NOW, maxBodyBytes: 1000 })

/** The same service four times: it tells who called and what arrived. */
const SERVERS: Readonly<Record<string, () => Promise<Served>>> = {
  'node:http': () =>
    listen(
      createServer(
        httpNodeProof(options(), (request, response) => {
          response.end(
            JSON.stringify({ node: request.node.publicKey, got: JSON.parse(String(request.rawBody) || 'null') }),
          )
        }),
      ),
    ),
  express: async () => {
    // Without types: they are a package of their own, and one line here does not need them.
    const { default: express } = (await import(EXPRESS)) as { default: () => ExpressApp }
    const app = express()
    app.use(expressNodeProof(options()))
    app.use((request, response) => response.json({ node: request.node.publicKey, got: request.body ?? null }))
    return listen(createServer(app as never))
  },
  fastify: async () => {
    const app = fastify()
    app.addHook('preParsing', fastifyNodeProof(options()) as never)
    const answer = (request: { body: unknown }): object => ({
      node: (request as unknown as { node: { publicKey: string } }).node.publicKey,
      got: request.body ?? null,
    })
    app.post('/print', answer)
    app.get('/print', answer)
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  },
  hono: async () => {
    const app = new Hono<{ Variables: { node: { publicKey: string } } }>()
    app.use(honoNodeProof(options()) as never)
    app.all('/print', async (c) => {
      const text = await c.req.text()
      return c.json({ node: c.get('node').publicKey, got: text === '' ? null : (JSON.parse(text) as unknown) })
    })
    return listen(createServer((request, response) => void serveWeb(app, request, response)))
  },
}

interface ExpressApp {
  use(
    handler: (
      request: Parameters<ReturnType<typeof expressNodeProof>>[0] & { node: { publicKey: string } },
      response: Parameters<ReturnType<typeof expressNodeProof>>[1] & { json(value: unknown): void },
      next: (error?: unknown) => void,
    ) => void,
  ): void
}

async function listen(server: ReturnType<typeof createServer>): Promise<Served> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<unknown> =>
    new Promise((resolve) => {
      server.closeAllConnections()
      server.close(resolve)
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** What an adapter of Hono does, in short. */
async function serveWeb(
  app: { fetch(request: Request): Response | Promise<Response> },
  request: Parameters<Parameters<typeof createServer>[1] & object>[0],
  response: Parameters<Parameters<typeof createServer>[1] & object>[1],
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const headers = new Headers()
  for (const [name, values] of Object.entries(request.headersDistinct))
    for (const value of values ?? []) headers.append(name, value)
  const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }
  const answer = await app.fetch(
    new Request(`http://h${request.url}`, { method: request.method ?? '', headers, ...body }),
  )
  response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text())
}

describe.each(Object.keys(SERVERS))('%s', (name) => {
  async function start(): Promise<string> {
    served = await SERVERS[name]?.()
    return `${served?.url}/print?copies=2`
  }
  const json = { 'Content-Type': 'application/json' }
  const prove = (over: object = {}): ReturnType<typeof provingFetch> =>
    provingFetch(() => ({ signer: node, certificate, audience: AUDIENCE, clock: () => NOW, ...over }))

  it('lets a proven request through, with the caller on it and the body untouched', async () => {
    const url = await start()
    const posted = await prove()(url, { method: 'POST', body: '{"text":"hé"}', headers: json })
    expect([posted.status, await posted.json()]).toEqual([200, { node: node.publicKey, got: { text: 'hé' } }])
    const read = await prove()(url, { method: 'GET' })
    expect([read.status, await read.json()]).toEqual([200, { node: node.publicKey, got: null }])
  })

  it.each([
    ['no proof', 401, 'proof_missing', async () => ({})],
    ['another audience', 401, 'wrong_audience', () => headersOf({ audience: 'https://other.example.org' })],
    ['an old proof', 401, 'proof_stale', () => headersOf({ now: NOW - 61_000_000n })],
    ['another body', 401, 'digest_mismatch', () => headersOf({ body: '{"text":"other"}' })],
    ['another method', 401, 'signature_invalid', () => headersOf({ method: 'PUT' })],
    ['another target', 401, 'signature_invalid', () => headersOf({ url: '/print?copies=200' })],
    [
      'half a proof',
      401,
      'proof_malformed',
      async () => {
        const { signature: _none, ...rest } = await headersOf({})
        return rest
      },
    ],
  ])('refuses %s', async (_name, status, reason, headers) => {
    const url = await start()
    const body = '{"text":"a"}'
    const answer = await fetch(url, { method: 'POST', body, headers: { ...json, ...(await headers()) } })
    const { error } = (await answer.json()) as { error: { details: unknown } }
    expect([answer.status, error.details]).toEqual([status, { reason }])
  })

  function headersOf(over: object): Promise<Record<string, string>> {
    const request = {
      method: 'POST',
      url: '/print?copies=2',
      body: '{"text":"a"}',
      audience: AUDIENCE,
      now: NOW,
      ...over,
    }
    return proveRequest(request, { signer: node, certificate })
  }

  it('refuses the same proof twice', async () => {
    const url = await start()
    const headers = { ...json, ...(await headersOf({})) }
    const send = (): Promise<Response> => fetch(url, { method: 'POST', body: '{"text":"a"}', headers })
    expect((await send()).status).toBe(200)
    const again = await send()
    expect([again.status, await again.json()]).toMatchObject([
      401,
      { error: { details: { reason: 'proof_replayed' } } },
    ])
  })

  it('refuses a certificate that is revoked, and somebody else with the certificate of a node', async () => {
    const url = await start()
    const thief = await seedSigner('thief', toBase64(new Uint8Array(32).fill(9)))
    const stolen = { keyId: node.keyId, publicKey: node.publicKey, sign: (message: Uint8Array) => thief.sign(message) }
    expect((await prove({ signer: stolen })(url, { method: 'GET' })).status).toBe(401)
    const before = party
    party = await openParty(['cert-1'])
    await served?.close()
    const other = await start()
    const answer = await prove()(other, { method: 'GET' })
    party = before
    expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code: 'certificate_untrusted' } }])
  })

  it('reads no body beyond its bound', async () => {
    const url = await start()
    const answer = await prove()(url, { method: 'POST', body: 'x'.repeat(2000), headers: json })
    expect(answer.status).toBe(413)
  })
})

it('runs no handler of Fastify behind a refusal, however slowly the refusal is sent or who hangs up', async () => {
  const app = fastify()
  let runs = 0
  app.addHook('preParsing', fastifyNodeProof(options()) as never)
  // As a plugin for compression or logging does it.
  app.addHook('onSend', () => new Promise((resolve) => setTimeout(resolve, 50)))
  app.post('/print', () => {
    runs += 1
    return {}
  })
  served = { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  const url = `${served.url}/print`
  expect((await fetch(url, { method: 'POST' })).status).toBe(401)
  await expect(fetch(url, { method: 'POST', signal: AbortSignal.timeout(25) })).rejects.toThrow('timeout')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(runs).toBe(0)
})

it('a relying party forgets no revocation that a later list leaves out, and never goes back', async () => {
  const fresh = await openParty(['cert-1'])
  const next = await testList(by, NOW, { sequence: 10 })
  expect(await fresh.install(next, NOW)).toEqual({ ok: true })
  const { findings } = await fresh.evaluate(certificate, NOW)
  expect(findings).toMatchObject([{ code: 'revoked', withdrawn: true }])
  expect(await fresh.install(await testList(by, NOW, { sequence: 9 }), NOW)).toEqual({ ok: false, reason: 'rollback' })
  const forked = await testList(by, NOW, { sequence: 10, entries: [{ certificate_id: 'x' }] })
  expect(await fresh.install(forked, NOW)).toEqual({ ok: false, reason: 'equivocation' })
  const stale = await testList(by, NOW, { sequence: 11, lasts: HOUR, issuedAgo: 2n * HOUR })
  expect(await fresh.install(stale, NOW)).toEqual({ ok: false, reason: 'crl_stale' })
  expect(fresh.sequenceOf()).toBe(10)
})
