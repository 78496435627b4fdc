import { type JsonValue, seedSigner, verifyGenesisBlock, verifyList } from '@chancery/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { type Reply, type TestServer, listen } from '../http/http-server.suite.ts'
import { CRL, GENESIS, METADATA, NA_PUBLIC_KEY, OPERATOR_SEED, POLICY } from '../testing/records.suite.ts'

let server: TestServer | undefined
afterEach(() => server?.close())

async function clientOf(reply: Reply): Promise<Client> {
  server = await listen(() => reply)
  const signer = await seedSigner('ops-1', OPERATOR_SEED)
  return createAuthorityClient({ url: server.url, operator: { signer, audience: NA_PUBLIC_KEY }, retry: false })
}

function sent(): string {
  const [request] = server?.received ?? []
  return `${request?.method} ${request?.target} ${Buffer.from(request?.body ?? []).toString()}`.trimEnd()
}

const READY = {
  status: 'ready',
  instance: 'a1',
  ha_mode: 'off',
  database: { backend: 'sqlite', expected_schema_version: 3, writable: true, schema_version: 3 },
  signing_key: {
    key_id: 'na-example',
    provider: 'file',
    fingerprint: 'c0',
    valid_to: '2030-01-01T00:00:00Z',
    expires_in_seconds: -5,
  },
  warnings: ['signing_key_window_ending'],
  rate_limiter: 'memory',
  db_path: '/na/authority.db',
}

const HEALTH = {
  status: 'degraded',
  reasons: ['crl_overdue'],
  network: 'EXAMPLE-NET',
  version: 'v0.1',
  boundary_policies: 'healthy',
  boundary_policy_enforcement: 'optional',
  evidence_store: 'off',
}

const SURFACES = {
  network: 'EXAMPLE-NET',
  version: 'v0.1',
  groups: [
    {
      group: 'safe',
      surfaces: [
        {
          method: 'GET',
          target: '/crl',
          title: 't',
          purpose: 'p',
          access: 'browser_safe',
          auth_hint: 'h',
          rate_limit: null,
        },
      ],
    },
  ],
  counts: { http: 1, cli: 0, browser_safe: 1 },
}

const REVOKED = {
  key_id: 'ops-2',
  revoked: true,
  already_revoked: false,
  revoked_at: '2030-01-01T00:00:00Z',
  reason: 'left',
  remaining_active_keys: 1,
}

const HISTORY = {
  versions: [{ policy_id: POLICY.policy_id, active: true, created_at: '2030-01-01T00:00:01Z', policy: POLICY }],
}

interface Case {
  readonly name: string
  readonly call: (client: Client) => Promise<unknown>
  readonly line: string
  readonly answer: JsonValue
  readonly gives?: unknown
}

const CASES: readonly Case[] = [
  { name: 'health.healthz', call: (c) => c.health.healthz(), line: 'GET /healthz', answer: { status: 'ok' } },
  { name: 'health.readyz', call: (c) => c.health.readyz(), line: 'GET /readyz', answer: READY },
  { name: 'health.health', call: (c) => c.health.health(), line: 'GET /health', answer: HEALTH },
  { name: 'sovereign.genesis', call: (c) => c.sovereign.genesis(), line: 'GET /genesis', answer: GENESIS },
  { name: 'sovereign.metadata', call: (c) => c.sovereign.metadata(), line: 'GET /sovereign.json', answer: METADATA },
  { name: 'crl.current', call: (c) => c.crl.current(), line: 'GET /crl', answer: CRL },
  { name: 'policy.current', call: (c) => c.policy.current(), line: 'GET /policy', answer: POLICY },
  {
    name: 'policy.history',
    call: (c) => c.policy.history({ limit: 1 }),
    line: 'GET /admin/policy/history?limit=1',
    answer: { ...HISTORY, total: 2, next_offset: 1, next_cursor: 'abc' },
  },
  {
    name: 'policy.publish',
    call: (c) => c.policy.publish({ allowed_ports: [443] }),
    line: 'POST /admin/policy {"allowed_ports":[443]}',
    answer: POLICY,
    gives: { manifest: POLICY, created: false },
  },
  {
    name: 'policy.rollback',
    call: (c) => c.policy.rollback({ policy_id: 'p-1' }),
    line: 'POST /admin/policy/rollback {"policy_id":"p-1"}',
    answer: POLICY,
  },
  {
    name: 'operatorKeys.revoke',
    call: (c) => c.operatorKeys.revoke('ops-2', { reason: 'left' }),
    line: 'POST /admin/operator-keys/ops-2/revoke {"reason":"left"}',
    answer: REVOKED,
  },
  {
    name: 'reference.swagger',
    call: (c) => c.reference.swagger(),
    line: 'GET /swagger.json',
    answer: { openapi: '3.0.3' },
  },
  { name: 'reference.surfaces', call: (c) => c.reference.surfaces(), line: 'GET /surfaces', answer: SURFACES },
]

describe.each(CASES)('$name', ({ call, line, answer, gives }) => {
  it('asks its route and gives the answer', async () => {
    const given = await call(await clientOf({ json: answer }))
    expect(sent()).toBe(line)
    expect(given).toEqual(gives ?? answer)
  })

  it('refuses an answer of another form', async () => {
    const client = await clientOf({ json: [] })
    await expect(call(client)).rejects.toMatchObject({
      name: 'ResponseError',
      status: 200,
      requestId: 'from-the-server',
    })
  })
})

describe('answers', () => {
  it('that are unsigned may gain members', async () => {
    const client = await clientOf({ json: { ...HEALTH, later: 1 } })
    expect(await client.health.health()).toEqual(HEALTH)
  })

  it('of an authority that gives no reasons and no end of its key are read as well', async () => {
    const { reasons: _none, ...before } = HEALTH
    expect((await (await clientOf({ json: before })).health.health()).reasons).toEqual([])
    const { key_id, provider, fingerprint } = READY.signing_key
    const { warnings: _no, ...ready } = READY
    const client = await clientOf({ json: { ...ready, signing_key: { key_id, provider, fingerprint } } })
    expect(await client.health.readyz()).toMatchObject({ warnings: [], signing_key: { valid_to: null } })
  })

  it('that are signed may not', async () => {
    const client = await clientOf({ json: { ...POLICY, later: 1 } })
    await expect(client.policy.current()).rejects.toMatchObject({ name: 'ResponseError' })
  })

  it('keep their signatures verifiable', async () => {
    expect(await verifyGenesisBlock(await (await clientOf({ json: GENESIS })).sovereign.genesis())).toEqual({
      ok: true,
    })
    await server?.close()
    expect(await verifyList(await (await clientOf({ json: CRL })).crl.current(), [NA_PUBLIC_KEY])).toBe(true)
    await server?.close()
    expect(await verifyList(await (await clientOf({ json: POLICY })).policy.current(), [NA_PUBLIC_KEY])).toBe(true)
  })

  it('separate a new policy from one made active again', async () => {
    const client = await clientOf({ json: POLICY, status: 201 })
    expect(await client.policy.publish({})).toMatchObject({ created: true })
  })

  it('say when a key was revoked before', async () => {
    const client = await clientOf({ json: { key_id: 'ops-2', revoked: true, already_revoked: true } })
    expect(await client.operatorKeys.revoke('ops-2')).toEqual({ key_id: 'ops-2', revoked: true, already_revoked: true })
  })

  it('of the metrics route are text', async () => {
    const client = await clientOf({ raw: '# HELP a b\na 1\n' })
    expect(await client.health.metrics()).toBe('# HELP a b\na 1\n')
  })
})
