// oxlint-disable max-lines -- one table of calls that a node makes
import {
  readJsonBytes,
  readAgentDescriptor,
  seedSigner,
  verifyAgentDelete,
  verifyAgentDescriptor,
  verifyJoinCertificate,
  verifyNodeProof,
} from '@chancery/protocol'
import type { AgentDelete, JsonObject, JsonValue, NodeAction } from '@chancery/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import type { ClientOptions } from '../http/connection.ts'
import { type Received, type Reply, type TestServer, isSignedFor, listen, refusal } from '../http/http-server.suite.ts'
import {
  CERTIFICATE,
  DESCRIPTOR,
  METADATA,
  NA_PUBLIC_KEY,
  NODE_PUBLIC_KEY,
  NODE_SEED,
  OPERATOR_SEED,
  PARTNER_PUBLIC_KEY,
} from '../testing/records.suite.ts'

/** 2030-01-02T03:10:00Z. */
const NOW = 1_893_553_800_000_000n

let server: TestServer | undefined
afterEach(() => server?.close())

async function connect(
  reply: (target: string, count: number) => Reply,
  options: Partial<ClientOptions> = {},
): Promise<Client> {
  server = await listen((request, count) => reply(request.target, count))
  return createAuthorityClient({
    url: server.url,
    node: { signer: await seedSigner('any label', NODE_SEED), audience: NA_PUBLIC_KEY },
    clock: () => NOW,
    retry: { firstDelayMs: 1 },
    ...options,
  })
}

function received(at = 0): Received {
  const request = server?.received[at]
  if (request === undefined) throw new Error('no request')
  return request
}

function bodyOf(at = 0): JsonObject {
  return readJsonBytes(received(at).body) as JsonObject
}

function verdict(action: NodeAction, audience = NA_PUBLIC_KEY, at = 0): Promise<{ ok: boolean }> {
  return verifyNodeProof(bodyOf(at), { action, audience, now: NOW })
}

const ACK = {
  ack: true,
  server_time: '2030-01-02T03:10:00+00:00',
  next_heartbeat_seconds: 61,
  crl_sequence: 4,
  policy_id: null,
}

const PROVEN = [
  {
    action: 'join',
    call: (c: Client) => c.enrollment.join({ invite_token: 'secret-token', validity_hours: 72 }),
    answer: { status: 201, json: CERTIFICATE },
    members: { invite_token: 'secret-token', validity_hours: 72 },
    gives: CERTIFICATE,
  },
  {
    action: 'heartbeat',
    call: (c: Client) => c.enrollment.heartbeat({ cert_id: 'c-1', status: 'healthy' }),
    answer: { json: ACK },
    members: { cert_id: 'c-1', status: 'healthy' },
    gives: { ack: true, server_time: ACK.server_time, next_heartbeat_seconds: 61, crl_sequence: 4, policy_id: null },
  },
  {
    action: 'renew',
    call: (c: Client) => c.enrollment.renew({ cert_id: 'c-1' }),
    answer: { status: 201, json: CERTIFICATE },
    members: { cert_id: 'c-1' },
    gives: CERTIFICATE,
  },
] as const

describe.each(PROVEN)('enrollment.$action', ({ action, call, answer, members, gives }) => {
  it('proves possession to this authority and for this action only', async () => {
    const given: unknown = await call(await connect(() => answer))
    expect(given).toEqual(gives)
    expect(`${received().method} ${received().target}`).toBe(`POST /${action}`)
    expect(bodyOf()).toMatchObject({ ...members, node_public_key: NODE_PUBLIC_KEY, action, audience: NA_PUBLIC_KEY })
    expect(await verdict(action)).toEqual({ ok: true })
    expect(await verdict(action, PARTNER_PUBLIC_KEY)).toMatchObject({ ok: false })
    for (const other of PROVEN)
      if (other.action !== action) expect(await verdict(other.action)).toMatchObject({ ok: false })
  })

  it('sends only the members it was given, and no operator header', async () => {
    await call(await connect(() => answer))
    expect(Object.keys(bodyOf()).sort()).toEqual(
      [...Object.keys(members), 'node_public_key', 'audience', 'action', 'timestamp', 'nonce', 'signature'].sort(),
    )
    expect(Object.keys(received().headers).filter((name) => name.startsWith('x-admin'))).toEqual([])
  })

  it('signs again for every attempt', async () => {
    await call(await connect((_target, count) => (count < 3 ? refusal(503, 'service_unavailable') : answer)))
    expect(new Set([0, 1, 2].map((at) => bodyOf(at)['nonce'])).size).toBe(3)
    expect(await verdict(action, NA_PUBLIC_KEY, 2)).toEqual({ ok: true })
  })

  it('is not sent without a node key', async () => {
    server = await listen(() => ({}))
    await expect(call(createAuthorityClient({ url: server.url }))).rejects.toMatchObject({ name: 'UsageError' })
    expect(server.received).toHaveLength(0)
  })

  it('refuses an answer of another form', async () => {
    const client = await connect(() => ({ json: { hello: 1 } }))
    await expect(call(client)).rejects.toMatchObject({ name: 'ResponseError' })
  })
})

describe('a join whose fate is unknown', () => {
  it.each<[string, Reply]>([
    ['a broken connection', { destroy: true }],
    ['an unknown outcome', refusal(503, 'service_unavailable', { outcome: 'unknown' })],
  ])('is not repeated after %s: the invite may be spent', async (_name, reply) => {
    const client = await connect(() => reply)
    await expect(client.enrollment.join({ invite_token: 't' })).rejects.toBeInstanceOf(Error)
    expect(server?.received).toHaveLength(1)
  })

  it('is no reason not to repeat a renewal', async () => {
    const client = await connect((_target, count) => (count === 1 ? { destroy: true } : { json: CERTIFICATE }))
    await client.enrollment.renew({ cert_id: 'c-1' })
    expect(server?.received).toHaveLength(2)
  })
})

describe('the audience of a node', () => {
  it('is read once when the caller trusts the first one', async () => {
    const client = await connect((target) => ({ json: target === '/sovereign.json' ? METADATA : ACK }), {
      node: { signer: await seedSigner('n', NODE_SEED), trustFirstAudience: true },
    })
    await client.enrollment.heartbeat({ cert_id: 'c-1' })
    await client.enrollment.heartbeat({ cert_id: 'c-1' })
    expect(server?.received.map(({ target }) => target)).toEqual(['/sovereign.json', '/heartbeat', '/heartbeat'])
    expect(await verdict('heartbeat', NA_PUBLIC_KEY, 1)).toEqual({ ok: true })
  })

  it('must be chosen one way or the other', async () => {
    const careless = { signer: await seedSigner('n', NODE_SEED) } as unknown as NonNullable<ClientOptions['node']>
    expect(() => createAuthorityClient({ url: 'http://na', node: careless })).toThrow('pin the audience of the node')
  })
})

describe('a certificate', () => {
  it('keeps its signature verifiable', async () => {
    const client = await connect(() => ({ status: 201, json: CERTIFICATE }))
    const certificate = await client.enrollment.join({ invite_token: 't' })
    const against = { network_name: 'EXAMPLE-NET', authorityKey: NA_PUBLIC_KEY, now: NOW }
    expect(await verifyJoinCertificate(certificate, against)).toEqual({ ok: true })
  })
})

describe('a refused proof', () => {
  it('reports when the clocks disagree', async () => {
    const headers = { Date: 'Wed, 02 Jan 2030 02:50:00 GMT' }
    const client = await connect(() => refusal(401, 'node_auth_failed', {}, headers))
    await expect(client.enrollment.heartbeat({ cert_id: 'c' })).rejects.toMatchObject({ clockOffsetSeconds: 1200 })
  })

  it('reports it also for a descriptor outside its validity period', async () => {
    const headers = { Date: 'Wed, 02 Jan 2030 03:20:30 GMT' }
    const client = await connect(() => refusal(400, 'descriptor_expired', {}, headers))
    await expect(client.agents.register(FACTS)).rejects.toMatchObject({ clockOffsetSeconds: -630 })
  })
})

const ENTRY = {
  node_public_key: NODE_PUBLIC_KEY,
  roles: ['role:client'],
  status: 'healthy',
  last_heartbeat: '2030-01-02T03:10:00Z',
  remote_addr: '127.0.0.1',
  expires_at: '2030-01-05T03:04:06.000123Z',
}

describe('enrollment for operators', () => {
  async function asOperator(json: JsonValue, status = 200): Promise<Client> {
    const signer = await seedSigner('ops-1', OPERATOR_SEED)
    return connect(() => ({ json, status }), { operator: { signer, audience: NA_PUBLIC_KEY } })
  }

  async function isSigned(): Promise<boolean> {
    const { publicKey } = await seedSigner('ops-1', OPERATOR_SEED)
    return isSignedFor(NA_PUBLIC_KEY, publicKey, received())
  }

  it('invite sends what was chosen, signed', async () => {
    const invite = { token_id: 'x'.repeat(43), expires_at: '2030-01-03T03:10:00Z' }
    const client = await asOperator(invite, 201)
    expect(await client.enrollment.invite({ roles: ['role:anchor'], token_expiry_hours: 2 })).toEqual(invite)
    expect(bodyOf()).toEqual({ roles: ['role:anchor'], token_expiry_hours: 2 })
    expect(await isSigned()).toBe(true)
  })

  it('roster is signed, the count is not', async () => {
    const roster = { count: 1, nodes: { 'c-1': { ...ENTRY, later: 1 } } }
    const client = await asOperator(roster)
    expect(await client.enrollment.roster()).toEqual({ count: 1, nodes: { 'c-1': { ...ENTRY, label: null } } })
    expect(await isSigned()).toBe(true)
    expect(await client.enrollment.nodes()).toMatchObject({ count: 1 })
    expect(received(1).headers).not.toHaveProperty('x-admin-signature')
  })

  it('roster is not sent without an operator, and never reads a count as a roster', async () => {
    const client = await connect(() => ({ json: { count: 1 } }))
    await expect(client.enrollment.roster()).rejects.toMatchObject({ name: 'UsageError' })
    expect(server?.received).toHaveLength(0)
    await server?.close()
    await expect((await asOperator({ count: 1 })).enrollment.roster()).rejects.toMatchObject({ name: 'ResponseError' })
  })

  it('revoke names one certificate or several, and its try when asked to', async () => {
    const done = {
      crl_sequence: 2,
      revoked_count: 5,
      also_revoked: { count: 1, sample: ['b'] },
      other_certificates: { count: 1, sample: ['c'] },
    }
    const client = await asOperator(done)
    expect(await client.crl.revoke({ cert_ids: ['a'] })).toEqual(done)
    await client.crl.revoke({ cert_ids: ['a', 'b'], reason: 'key_compromise' }, { idempotencyKey: 'try-1' })
    expect([bodyOf(0), bodyOf(1)]).toEqual([
      { cert_id: 'a', all_of_key: true },
      { cert_ids: ['a', 'b'], reason: 'key_compromise', all_of_key: true },
    ])
    await client.crl.revoke({ cert_ids: ['a'], node_public_key: 'k' })
    expect(bodyOf(2)).toEqual({ cert_id: 'a', node_public_key: 'k', all_of_key: true })
    expect([0, 1].map((at) => received(at).headers['idempotency-key'])).toEqual([undefined, 'try-1'])
    await client.crl.revoke({ cert_ids: ['a'], only_this: true })
    expect(bodyOf(3)).toEqual({ cert_id: 'a', only_this: true })
  })

  it('revoke of all certificates of a key is not taken for done by an authority that does not know it', async () => {
    const client = await asOperator({ crl_sequence: 2, revoked_count: 5 })
    const left = await client.crl.revoke({ cert_ids: ['a'], only_this: true })
    expect(left).toMatchObject({ other_certificates: { count: 0 } })
    await expect(client.crl.revoke({ cert_ids: ['a'] })).rejects.toMatchObject({
      name: 'ResponseError',
    })
  })

  it.each(['', 'a b', 'x'.repeat(129), 'a\r\nX: y'])('revoke refuses the key %j before it is sent', async (key) => {
    const client = await asOperator({})
    await expect(client.crl.revoke({ cert_ids: ['a'] }, { idempotencyKey: key })).rejects.toMatchObject({
      name: 'UsageError',
    })
    expect(server?.received).toHaveLength(0)
  })

  it('revoke refuses more than a thousand', async () => {
    const client = await asOperator({})
    const ids = ['a', ...Array.from({ length: 1000 }, (_each, index) => `c-${index}`)] as [string, ...string[]]
    await expect(client.crl.revoke({ cert_ids: ids })).rejects.toMatchObject({ name: 'UsageError' })
  })
})

const FACTS = {
  agent_id: 'llm-1',
  network_name: 'EXAMPLE-NET',
  capabilities: ['llm:chat'],
  endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
}

describe('agents.register', () => {
  it('announces for ten minutes, signed under the label of the node key', async () => {
    const client = await connect(() => ({ json: { status: 'registered', expires_at: '2030-01-02T03:20:00Z' } }))
    const { expires_at, descriptor } = await client.agents.register(FACTS)
    const sent = readAgentDescriptor(bodyOf())
    expect(sent).toMatchObject({ ...FACTS, registered_at: '2030-01-02T03:10:00Z', expires_at, metadata: {} })
    expect(sent.signatures.map(({ key_id }) => key_id)).toEqual([NODE_PUBLIC_KEY])
    expect(await verifyAgentDescriptor(sent)).toBe(true)
    expect(descriptor).toEqual(sent)
  })

  it.each([
    [{ capabilities: ['a b'] }, 'capabilities[0]'],
    [{ lifetimeSeconds: 86_401 }, 'expires_at'],
    [{ endpoint: { host: '', port: 1 } }, 'endpoint.host'],
  ])('refuses %j without sending it', async (facts, field) => {
    const client = await connect(() => ({}))
    const error: unknown = await client.agents.register({ ...FACTS, ...facts }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'UsageError', message: expect.stringContaining(field) as string })
    expect(server?.received).toHaveLength(0)
  })
})

describe('agents.search', () => {
  const page = { count: 1, capability: 'llm:chat', agents: [DESCRIPTOR] }

  it('asks for exactly this tag and gives descriptors that verify', async () => {
    const client = await connect(() => ({ json: { ...page, total: 1, next_offset: null, next_cursor: null } }))
    const found = await client.agents.search('llm:chat', { limit: 5 })
    expect(received().target).toBe('/agents?capability=llm%3Achat&limit=5')
    expect(found).toMatchObject({ count: 1, total: 1, next_cursor: null })
    for (const descriptor of found.agents) expect(await verifyAgentDescriptor(descriptor)).toBe(true)
  })

  it('walks all pages and stops at a cursor that does not move', async () => {
    const cursors = ['c1', 'c2', 'c2']
    const client = await connect((_target, count) => ({ json: { ...page, next_cursor: cursors[count - 1] ?? null } }))
    const keys: string[] = []
    for await (const { agent_id } of client.agents.searchAll('a', { limit: 2 })) keys.push(agent_id)
    expect(keys).toHaveLength(3)
    expect(server?.received.map(({ target }) => target)).toEqual([
      '/agents?capability=a&limit=2',
      '/agents?capability=a&limit=2&cursor=c1',
      '/agents?capability=a&limit=2&cursor=c2',
    ])
  })

  it('needs a tag; the count does not', async () => {
    const client = await connect(() => ({ json: { count: 7, capability: null } }))
    await expect(client.agents.search('')).rejects.toMatchObject({ name: 'UsageError' })
    expect(await client.agents.count()).toBe(7)
  })
})

describe('one agent', () => {
  it('is found by its key', async () => {
    const client = await connect(() => ({ json: DESCRIPTOR }))
    expect(await client.agents.find(NODE_PUBLIC_KEY)).toEqual(DESCRIPTOR)
    expect(received().target).toBe(`/agents/${encodeURIComponent(NODE_PUBLIC_KEY)}`)
  })

  it('is removed by its own key', async () => {
    const client = await connect(() => ({ json: { status: 'deregistered' } }))
    await client.agents.remove()
    expect(`${received().method} ${received().target}`).toBe(`DELETE /agents/${encodeURIComponent(NODE_PUBLIC_KEY)}`)
    const envelope = bodyOf() as AgentDelete
    expect(envelope).toMatchObject({ version: 'v1', signed_at: '2030-01-02T03:10:00Z' })
    expect(await verifyAgentDelete(NODE_PUBLIC_KEY, envelope)).toBe(true)
  })
})

describe('health.clock', () => {
  it('compares clocks to the second', async () => {
    const client = await connect(() => ({ json: {}, headers: { Date: 'Wed, 02 Jan 2030 03:09:00 GMT' } }))
    expect(await client.health.clock()).toEqual({ offsetSeconds: 59.5, precisionSeconds: 0.5 })
  })
})
