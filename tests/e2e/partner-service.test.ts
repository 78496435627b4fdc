import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { readGenesisBlock, readJson, writeJson } from '@chancery/protocol'
import type { Attestation, GenesisBlock, JsonObject, JsonValue } from '@chancery/protocol'
import { MemoryNodeStore, createAuthorizer, joinNetwork } from '@chancery/sdk'
import type { Answer, Authorizer, Caller, NetworkNode } from '@chancery/sdk'
import * as onExpress from '@chancery/sdk/express'
import * as onFastify from '@chancery/sdk/fastify'
import * as onHono from '@chancery/sdk/hono'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { FollowedParty } from '@chancery/sdk/internal'
import { authenticate } from '@chancery/sdk/nodejs'
import { verifyDecisionChain } from '@chancery/sdk/verify'

import {
  accepted,
  createInvite,
  createMigratedDatabase,
  createTestNetwork,
  ownKeysOf,
  startAuthorityProcess,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

const AUDIENCE = 'https://ledger.alpha.example'
const ALPHA_SETTINGS = {
  NA_NODE_DECISIONS: 'partners',
  NA_DECISION_RELAY_ROLES: 'role:relay',
  NA_PARTNER_ADDRESSES: 'loopback',
}

interface Sovereign {
  readonly process: AuthorityProcess
  readonly network: TestNetwork
  readonly database: TestDatabase
  readonly genesis: GenesisBlock
  /** With its privileged operator. */
  readonly client: Client
}

async function startSovereign(name: string, settings: Record<string, string> = {}): Promise<Sovereign> {
  const [network, database] = [await createTestNetwork(name, ownKeysOf(name)), await createMigratedDatabase('sqlite')]
  const process = await startAuthorityProcess({ network, settings: { ...database.settings, ...settings } })
  const operator = { signer: network.operators.privileged, audience: network.authority.publicKey }
  const genesis = readGenesisBlock(readJson((await process.request('GET', '/genesis')).text))
  return { process, network, database, genesis, client: createAuthorityClient({ url: process.url, operator }) }
}

function join({ process, genesis }: Sovereign, role: string): Promise<NetworkNode> {
  const invite = (): Promise<string> => createInvite({ as: () => process.as('privileged') }, { roles: [role] })
  return joinNetwork({ url: process.url, genesis, store: new MemoryNodeStore(), invite })
}

let alpha: Sovereign
let beta: Sovereign
let relay: NetworkNode
let agent: NetworkNode
let trust: FollowedParty
let attestation: Attestation
let treaty: JsonObject
const services = new Map<string, Service>()
beforeAll(async () => {
  alpha = await startSovereign('ALPHA', ALPHA_SETTINGS)
  beta = await startSovereign('BETA')
  relay = await join(alpha, 'role:relay')
  agent = await join(beta, 'role:client')
  attestation = await beta.client.attestations.issue({
    subject_id: 'agent-7',
    subject_public_key: agent.publicKey,
    roles: ['role:client'],
    claims: { capabilities: ['ledger.read', 'vault.open'] },
  })
  const issued = await alpha.client.recognitionTreaties.issue({
    subject_sovereign_id: 'BETA',
    subject_public_keys: [beta.network.authority.publicKey],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
  })
  treaty = readJson(writeJson(issued)) as JsonObject
  const partner = { url: beta.process.url, root_public_key: beta.genesis.root_public_key, allow_http: true }
  await operate('/admin/partners', { ...partner, import_feeds: 'on', interval_seconds: 86_400 }, 201)
  await pull()
  trust = await FollowedParty.open({ client: createAuthorityClient({ url: beta.process.url }), genesis: beta.genesis })
  for (const [name, start] of Object.entries(SERVERS)) services.set(name, await start())
}, 120_000)
afterAll(async () => {
  for (const service of services.values()) await service.close()
  await Promise.all([relay.stop(), agent.stop()])
  for (const each of [alpha, beta]) {
    await each.process.stop()
    await each.database.drop()
    await each.network.remove()
  }
})

async function operate(path: string, body: JsonObject, status = 200): Promise<JsonObject> {
  return accepted(await alpha.process.as('privileged')('POST', path, body), status)
}

/** One pull of a partner in 10 seconds is accepted. */
async function pull(): Promise<void> {
  const attempt = (): Promise<JsonObject> => operate('/admin/partners/BETA/pull', {})
  await vi.waitFor(attempt, { timeout: 30_000, interval: 500 })
}

/** What every service does: asks its authority about the caller, and acts only on an allow. */
async function serve(caller: Caller, capability: string): Promise<{ status: number; text: string }> {
  if (caller.attestation === undefined) return { status: 401, text: '{"error":"attestation required"}' }
  const { allowed, decision, justification, context }: Answer = await relay.ask(capability, { caller })
  const text = writeJson({ decision, justification_proof: justification, context } as unknown as JsonObject)
  return { status: allowed ? 200 : 403, text }
}

const capabilityOf = (url: string | undefined): string => (url ?? '').slice(1)
const send = (response: ServerResponse, { status, text }: { status: number; text: string }): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(text)
}

interface Service {
  readonly url: string
  close(): Promise<unknown>
}

const authorizer = (): Authorizer => createAuthorizer({ audience: AUDIENCE, trust })
const LIMITS = { maxHeaderSize: 24_576 }

const SERVERS: Readonly<Record<string, () => Promise<Service>>> = {
  'node:http': () =>
    listen(
      createServer(
        LIMITS,
        authenticate(authorizer(), async (request, response, { caller }) =>
          send(response, await serve(caller, capabilityOf(request.url))),
        ),
      ),
    ),
  express: async () => {
    const app = express()
    app.use(onExpress.authenticate(authorizer()))
    // oxlint-disable-next-line oxc/no-async-endpoint-handlers -- Express 5 handles a rejected promise
    app.use(async (request, response) => {
      send(response, await serve(onExpress.callerOf(request), capabilityOf(request.url)))
    })
    return listen(createServer(LIMITS, app))
  },
  fastify: async () => {
    const app = fastify({ http: LIMITS })
    await app.register(onFastify.authenticate, { authorizer: authorizer() })
    app.get('/*', async (request, reply) => {
      const { status, text } = await serve(onFastify.callerOf(request), capabilityOf(request.url))
      return reply.code(status).type('application/json').send(text)
    })
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  },
  hono: async () => {
    const app = new Hono().use(onHono.authenticate(authorizer())).get('/*', async (c) => {
      const { status, text } = await serve(c.get('caller'), capabilityOf(c.req.path))
      return c.body(text, status as 200)
    })
    return listen(createServer(LIMITS, (request, response) => void serveWeb(app, request, response)))
  },
}

async function listen(server: ReturnType<typeof createServer>): Promise<Service> {
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
  app: { fetch(request: Request, env: object): Response | Promise<Response> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const headers = new Headers()
  for (const [name, values] of Object.entries(request.headersDistinct))
    for (const value of values ?? []) headers.append(name, value)
  const received = new Request(`http://h${request.url}`, { method: request.method ?? '', headers })
  const answer = await app.fetch(received, { incoming: request })
  send(response, { status: answer.status, text: await answer.text() })
}

interface Answered {
  readonly status: number
  readonly decision: JsonObject
  readonly justification: JsonObject
  readonly context: JsonObject
}

/** The agent of BETA calls the service of ALPHA with a proof of profile v2. */
async function call(server: string, capability: string): Promise<Answered> {
  const response = await agent.fetchWith({ audience: AUDIENCE, attestation })(
    `${services.get(server)?.url}/${capability}`,
  )
  const text = await response.text()
  const body = readJson(text) as Record<string, JsonObject>
  if (body['decision'] === undefined) throw new Error(text)
  const { decision, justification_proof: justification = {}, context = {} } = body
  return { status: response.status, decision, justification, context }
}

/** The auditor has the records and the keys of ALPHA, and makes no call. */
async function audit({ decision, justification, context }: Answered, change: object = {}): Promise<string> {
  const records = { decision, justification, context, treaty, attestation: asText(attestation), ...change }
  const verdict = await verifyDecisionChain({
    ...records,
    authorityKeys: [alpha.genesis.network_authority.public_key],
  })
  if (verdict.allowed) return 'allowed'
  return `${verdict.valid ? 'denied' : 'invalid'}: ${verdict.reason}`
}

const asText = (record: object): JsonObject => readJson(writeJson(record as JsonValue)) as JsonObject

describe('a service of ALPHA for a member of BETA', () => {
  it.each(Object.keys(SERVERS))('%s: one call from proof to decision, which an auditor can follow', async (server) => {
    const allowed = await call(server, 'ledger.read')
    expect(allowed).toMatchObject({
      status: 200,
      decision: { authorized: true, attestation_binding: { issuer_sovereign_id: 'BETA', subject_id: 'agent-7' } },
      context: {
        requester_sovereign_id: 'BETA',
        attributes: {
          chancery_request: {
            asked_by: 'relay',
            node_public_key: agent.publicKey,
            cert_id: agent.certificate.cert_id,
            audience: AUDIENCE,
            relayed_by: relay.certificate.cert_id,
          },
        },
      },
    })
    expect(await audit(allowed)).toBe('allowed')
    expect(await audit(allowed, { attestation: { ...asText(attestation), subject_id: 'agent-8' } })).toBe(
      'invalid: attestation_binding_mismatch',
    )
    // Claimed at home, but not granted by the treaty of ALPHA.
    const denied = await call(server, 'vault.open')
    expect(denied).toMatchObject({ status: 403, decision: { denial_reason: 'capability out of scope' } })
    expect(await audit(denied)).toBe('denied: capability_out_of_scope')
  })

  it('a caller without an attestation is refused by the service', async () => {
    const response = await agent.fetchWith({ audience: AUDIENCE })(`${services.get('node:http')?.url}/ledger.read`)
    expect([response.status, await response.json()]).toEqual([401, { error: 'attestation required' }])
  })

  it('a revocation at BETA ends access at ALPHA with the next pull, on every server', async () => {
    await beta.client.attestations.revoke(attestation.attestation_id)
    await pull()
    for (const server of Object.keys(SERVERS)) {
      const denied = await call(server, 'ledger.read')
      expect([server, denied.status, denied.decision['denial_reason']]).toEqual([server, 403, 'attestation_revoked'])
      expect(await audit(denied)).toBe('denied: attestation_basis')
    }
  })
})
