// oxlint-disable max-lines -- the same requests against each server framework
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { Hono } from 'hono'
import {
  HOUR,
  JsonFloat,
  PROOF_V2,
  contentDigest,
  instantOf,
  readRequestProof,
  seedSigner,
  signList,
  signatureBase,
  toBase64,
  toUtf8,
  verifyRequestProof,
  writeJson,
  writeProofParameters,
} from '@chancery/protocol'
import type { Attestation, JoinCertificate, JsonValue, Signer } from '@chancery/protocol'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type TestIssuer, testIssuer, testList } from '@chancery/testkit'
import { type CallerBasis, callerBasis } from '../request-proof/caller-basis.ts'
import { type AuthorizerOptions, createAuthorizer } from '../request-proof/authorizer.ts'
import type { Refusal } from '../request-proof/refusal.ts'
import type { Caller } from '../request-proof/caller.ts'
import { createSigningFetch, signRequest } from '../request-proof/sign.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import * as onExpress from './express.ts'
import * as onFastify from './fastify.ts'
import * as onHono from './hono.ts'
import * as onHttp from '../nodejs/node-http.ts'
import * as onWeb from './web.ts'
import express from 'express'

const NOW = instantOf('2030-01-02T03:00:00Z')
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

const refusals: Refusal[] = []
const options = (): AuthorizerOptions & { readonly decisions?: undefined } => ({
  audience: AUDIENCE,
  trust: party,
  clock: () => NOW,
  maxBodyBytes: 1000,
  onRefusal: (refusal) => refusals.push(refusal),
})

function attested(): Promise<Attestation> {
  const draft = {
    attestation_id: 'att-1',
    issuer_sovereign_id: 'agency',
    subject_id: 'zoë',
    subject_public_key: node.publicKey,
    roles: ['role:client'],
    status: 'active' as const,
    issued_at: '2030-01-02T02:00:00Z',
    valid_from: '2030-01-02T02:00:00Z',
    expires_at: '2030-01-03T02:00:00Z',
    issued_by: by.keyId,
    claims: { limit: new JsonFloat(90) },
    signatures: [],
  }
  return signList(draft, by.signer)
}

/** A proof with an attestation that `signRequest` would refuse to sign. */
async function signByHand(attestation: object): Promise<Record<string, string>> {
  const carry = (record: object): string => `:${toBase64(toUtf8(writeJson(record as JsonValue)))}:`
  const fields = {
    'chancery-certificate': carry(certificate),
    'chancery-audience': AUDIENCE,
    'content-digest': contentDigest(new Uint8Array()),
    'chancery-attestation': carry(attestation),
  }
  const created = Number(NOW / 1_000_000n)
  const parameters = writeProofParameters({ created, nonce: crypto.randomUUID(), keyId: 'cert-1' }, PROOF_V2)
  const base = signatureBase({ method: 'GET', target: '/print?copies=2' }, fields, parameters, PROOF_V2)
  const signature = `node=:${toBase64(await node.sign(base))}:`
  return { ...fields, 'signature-input': `node=${parameters}`, signature }
}

/** The authority checks the proof again, from what the service handed over. */
async function verifyHandedOver(given: CallerBasis['on_behalf_of']): Promise<string> {
  const proof = readRequestProof({
    'chancery-certificate': given.certificate,
    'chancery-audience': given.audience,
    'content-digest': given.content_digest,
    'signature-input': given.signature_input,
    signature: given.signature,
    'chancery-attestation': given.attestation ?? '',
  })
  if (proof === undefined) return 'malformed'
  const found = await verifyRequestProof(proof, { method: given.method, target: given.request_target })
  return typeof found === 'string' ? found : found.cert_id
}

/** What a service sees of a request; of a proof of profile v2 also what it can hand to its authority. */
function seen(caller: Caller, got: unknown): object {
  const heard = { node: caller.publicKey, got }
  if (caller.attestation === undefined) return heard
  const { presented, on_behalf_of } = callerBasis(caller)
  // As text: the form of a number is part of the record.
  return { ...heard, presented: writeJson(presented ?? null), on_behalf_of }
}

/** One service on five servers: it returns the caller and the received request. */
const SERVERS: Readonly<Record<string, () => Promise<Served>>> = {
  'node:http': () =>
    listen(
      createServer(
        onHttp.authenticate(createAuthorizer(options()), (_request, response, { caller, body }) => {
          response.end(JSON.stringify(seen(caller, JSON.parse(String(body) || 'null'))))
        }),
      ),
    ),
  express: async () => {
    const app = express()
    app.use(onExpress.authenticate(createAuthorizer(options())))
    app.use((request, response) => {
      response.json(seen(onExpress.callerOf(request), request.body ?? null))
    })
    return listen(createServer(app))
  },
  fastify: async () => {
    const app = fastify()
    await app.register(onFastify.authenticate, { authorizer: createAuthorizer(options()) })
    app.all('/print', (request) => seen(onFastify.callerOf(request), request.body ?? null))
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  },
  hono: async () => {
    const app = new Hono().use(onHono.authenticate(createAuthorizer(options()))).all('/print', async (c) => {
      const text = await c.req.text()
      return c.json(seen(c.get('caller'), text === '' ? null : JSON.parse(text)))
    })
    return listen(createServer((request, response) => void serveWeb(app, request, response)))
  },
  web: async () => {
    const fetch = onWeb.authenticate(createAuthorizer(options()), async (request, { caller }) => {
      const text = await request.text()
      return Response.json(seen(caller, text === '' ? null : JSON.parse(text)))
    })
    return listen(createServer((request, response) => void serveWeb({ fetch }, request, response)))
  },
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
  app: { readonly fetch: (request: Request, env: object) => Response | Promise<Response> },
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
    { incoming: request },
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
}

describe.each(Object.keys(SERVERS))('%s', (name) => {
  async function start(): Promise<string> {
    served = await SERVERS[name]?.()
    return `${served?.url}/print?copies=2`
  }
  const json = { 'Content-Type': 'application/json' }
  const prove = (over: object = {}): ReturnType<typeof createSigningFetch> =>
    createSigningFetch({ signer: node, certificate, clock: () => NOW, ...over }, { audience: AUDIENCE })

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
    expect(answer.headers.get('WWW-Authenticate')).toBe(`Chancery-Proof audience="${AUDIENCE}"`)
    expect(refusals.at(-1)).toEqual({ status: 401, code: 'proof_required', reason })
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
    return signRequest(request, { signer: node, certificate })
  }

  it('gives the attestation and the proof of a caller of profile v2 as the basis of a decision', async () => {
    const url = await start()
    const record = await attested()
    const send = prove({ attestation: record })
    const answer = await send(url, { method: 'POST', body: '{"text":"a"}', headers: json })
    const { presented, on_behalf_of } = (await answer.json()) as Pick<CallerBasis, 'on_behalf_of'> & {
      presented: string
    }
    const expected = writeJson({ attestation: record, issuer_sovereign_id: 'agency' })
    expect([answer.status, presented]).toEqual([200, expected])
    expect(presented).toContain('90.0')
    expect(on_behalf_of).toMatchObject({ method: 'POST', request_target: '/print?copies=2', audience: AUDIENCE })
    const caller = await verifyHandedOver(on_behalf_of)
    expect(caller).toBe('cert-1')
  })

  it.each([
    ['of another key', { subject_public_key: 'other' }, 'attestation_not_bound'],
    ['of another network', { issuer_sovereign_id: 'other' }, 'attestation_issuer_mismatch'],
    ['that is none', { roles: 'role:client' }, 'attestation_malformed'],
  ])('refuses an attestation %s', async (_name, over, reason) => {
    const url = await start()
    const headers = await signByHand({ ...(await attested()), ...over })
    const answer = await fetch(url, { method: 'GET', headers })
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: { details: { reason } } }])
  })

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

  it('refuses a revoked certificate, and another key with the certificate of a node', async () => {
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
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: 'body_too_large' } }])
  })
})

it('a proving fetch is assignable to typeof fetch', () => {
  const proving: typeof fetch = createSigningFetch({ signer: node, certificate })
  expect(typeof proving).toBe('function')
})

it('a proving fetch takes what fetch takes, and proves what the platform sends', async () => {
  const seen: string[] = []
  const handler: Parameters<typeof onHttp.authenticate>[1] = (request, response, { body }) => {
    seen.push(`${request.method} ${request.url} ${String(body)} ${String(request.headers['x-own'] ?? '')}`.trim())
    response.end()
  }
  served = await listen(createServer(onHttp.authenticate(createAuthorizer(options()), handler)))
  const { url } = served
  const send = createSigningFetch({ signer: node, certificate, clock: () => NOW }, { audience: AUDIENCE })
  const own = { 'x-own': 'own' }
  const stream = (): ReadableStream => new Blob(['{"n":6}']).stream()
  const answers = [
    await send(`${url}/a?b=1#part`),
    await send(new URL(`${url}/b c`)),
    await send(`${url}/c`, { method: 'post', body: '{"n":1}', headers: own }),
    await send(new Request(`${url}/d`, { method: 'POST', body: '{"n":2}', headers: own })),
    await send(new Request(`${url}/e`)),
    await send(new Request(`${url}/f`, { headers: own }), { method: 'PUT', body: new TextEncoder().encode('{"n":3}') }),
    await send(`${url}/g`, { method: 'POST', body: new URLSearchParams({ n: '4' }), headers: own }),
    await send(`${url}/h`, { method: 'patch', body: new Blob(['{"n":5}']) }),
    await send(`${url}/i`, { method: 'POST', body: stream(), duplex: 'half' } as RequestInit),
    await send(`${url}/j`, { method: 'POST', body: null }),
  ]
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(seen).toEqual([
    'GET /a?b=1',
    'GET /b%20c',
    'POST /c {"n":1} own',
    'POST /d {"n":2} own',
    'GET /e',
    'PUT /f {"n":3} own',
    'POST /g n=4 own',
    'PATCH /h {"n":5}',
    'POST /i {"n":6}',
    'POST /j',
  ])
  const read = new Request(`${url}/k`, { method: 'POST', body: 'x' })
  await read.text()
  await expect(send(read)).rejects.toThrow(TypeError)
  await expect(send(`${url}/l`, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
})

it('a proving fetch follows no redirect, whatever the request asks for', async () => {
  const away = createServer((_request, response) => response.writeHead(307, { Location: '/elsewhere' }).end())
  served = await listen(away)
  const send = createSigningFetch({ signer: node, certificate, clock: () => NOW }, { audience: AUDIENCE })
  const { url } = served
  await expect(send(url, { redirect: 'follow' })).rejects.toThrow('fetch failed')
  await expect(send(new Request(url, { redirect: 'follow' }))).rejects.toThrow('fetch failed')
})

/** The beginning of a request whose body will take its time. */
function headOf(target: string, length: number, fields: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ Host: 'h', 'Content-Length': String(length), ...fields })
  return `POST ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** The status that is answered while the body is withheld; `none` when none is. */
async function statusWhileWithheld(
  url: string,
  fields: Readonly<Record<string, string>>,
  limitMs = 10_000,
): Promise<string> {
  const { port, pathname, search } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (data) => resolve(String(data).slice(9, 12)))
    setTimeout(() => resolve('none'), limitMs)
  })
  socket.write(`${headOf(pathname + search, 900, fields)}{"text":`)
  const status = await answer
  socket.destroy()
  return status
}

// The adapter of Hono in this file reads bodies itself.
describe.each(Object.keys(SERVERS).filter((name) => name !== 'hono' && name !== 'web'))(
  '%s, while a body is withheld',
  (name) => {
    const prove = (over: object = {}): Promise<Record<string, string>> =>
      signRequest(
        { method: 'POST', url: '/print?copies=2', body: 'x'.repeat(900), audience: AUDIENCE, now: NOW, ...over },
        { signer: node, certificate },
      )

    it('stores nothing of an unauthenticated caller, and waits for a node once', async () => {
      served = await SERVERS[name]?.()
      const url = `${served?.url}/print?copies=2`
      const good = await prove()
      expect(await statusWhileWithheld(url, {})).toBe('401')
      expect(await statusWhileWithheld(url, await prove({ audience: 'https://other.example.org' }))).toBe('401')
      const other = await prove()
      expect(await statusWhileWithheld(url, { ...good, signature: other.signature ?? '' })).toBe('401')
      expect(await statusWhileWithheld(url, good, 300)).toBe('none')
      expect(await statusWhileWithheld(url, good)).toBe('401')
    })
  },
)

describe('node:http behind the proof', () => {
  const send = (url: string): Promise<Response> =>
    createSigningFetch({ signer: node, certificate, clock: () => NOW }, { audience: AUDIENCE })(url)

  it('responds with 500 to an exception of the handler, warns, and continues', async () => {
    const broken = new Error('the secret of the handler')
    served = await listen(
      createServer(
        onHttp.authenticate(createAuthorizer(options()), (request, response) => {
          if (request.url === '/thrown') throw broken
          if (request.url === '/begun') response.write('half of it')
          return request.url === '/good' ? void response.end('fine') : Promise.reject(broken)
        }),
      ),
    )
    for (const path of ['/thrown', '/rejected']) {
      const answer = await send(served.url + path)
      const text = await answer.text()
      expect([answer.status, text.includes('secret')]).toEqual([500, false])
    }
    await expect(send(`${served.url}/begun`).then((answer) => answer.text())).rejects.toThrow(TypeError)
    expect((await send(`${served.url}/good`)).status).toBe(200)
  })

  it('emits a process warning without a listener, also for exceptions of `trust`', async () => {
    const warned = new Promise<Error & { detail?: string }>((resolve) => process.once('warning', resolve))
    const trust = { evaluate: () => Promise.reject(new Error('the list cannot be read')) }
    served = await listen(createServer(onHttp.authenticate(createAuthorizer({ ...options(), trust }), () => undefined)))
    expect((await send(served.url)).status).toBe(500)
    expect(await warned).toMatchObject({
      name: 'ChanceryWarning',
      detail: expect.stringContaining('the list cannot be read'),
    })
  })

  it('is quiet when the caller goes away while it sends', async () => {
    const logged: unknown[] = []
    const note = (warning: Error): void => void logged.push(warning)
    process.on('warning', note)
    served = await listen(createServer(onHttp.authenticate(createAuthorizer(options()), () => undefined)))
    const proof = await signRequest(
      { method: 'POST', url: '/', body: 'half a body', audience: AUDIENCE, now: NOW },
      { signer: node, certificate },
    )
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1')
    socket.write(headOf('/', 11, proof) + 'half')
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.off('warning', note)
    expect(logged).toEqual([])
  })
})

it('runs no handler of Fastify behind a refusal, however slowly the refusal is sent or who hangs up', async () => {
  const app = fastify()
  let runs = 0
  await app.register(onFastify.authenticate, { authorizer: createAuthorizer(options()) })
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

it('a relying party stores revocations that a later list omits, and never goes back', async () => {
  const fresh = await openParty(['cert-1'])
  const next = await testList(by, NOW, { sequence: 10 })
  expect(await fresh.install(next, NOW)).toEqual({ valid: true })
  const { decision } = await fresh.evaluate(certificate, NOW)
  expect(decision?.findings).toMatchObject([{ code: 'revoked', withdrawn: true }])
  expect(await fresh.install(await testList(by, NOW, { sequence: 9 }), NOW)).toEqual({
    valid: false,
    reason: 'rollback',
  })
  const forked = await testList(by, NOW, { sequence: 10, entries: [{ certificate_id: 'x' }] })
  expect(await fresh.install(forked, NOW)).toEqual({ valid: false, reason: 'equivocation' })
  const stale = await testList(by, NOW, { sequence: 11, lasts: HOUR, issuedAgo: 2n * HOUR })
  expect(await fresh.install(stale, NOW)).toEqual({ valid: false, reason: 'crl_stale' })
  expect(fresh.sequenceOf()).toBe(10)
})

it('a relying party gives a verdict on whatever is presented to it', async () => {
  const fresh = await openParty([])
  const { roles: _roles, ...without } = certificate
  for (const garbage of [
    null,
    undefined,
    7,
    'x',
    [],
    {},
    { ...certificate, roles: 'role:client' },
    { ...certificate, signatures: [null] },
    { ...certificate, network_name: {} },
    { ...certificate, stray: 1 },
  ]) {
    const verdict = await fresh.evaluate(garbage as JoinCertificate, NOW)
    expect([verdict.trusted, verdict.trusted ? 0 : verdict.reasons.length]).toEqual([false, 1])
    expect(await fresh.install(garbage as never, NOW)).toEqual({ valid: false, reason: 'malformed' })
  }
  expect((await fresh.evaluate(without as JoinCertificate, NOW)).trusted).toBe(false)
  expect((await fresh.evaluate(certificate, NOW)).trusted).toBe(true)
})
