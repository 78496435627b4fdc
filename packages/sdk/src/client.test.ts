import { inspect } from 'node:util'
import { type Signer, seedSigner, writeInstant } from '@chancery/protocol'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from './authority/client.ts'
import type { Client } from './client.ts'
import type { ClientOptions } from './http/connection.ts'
import { type Reply, type TestServer, isSignedFor, listen, refusal } from './http/http-server.suite.ts'
import { METADATA, NA_PUBLIC_KEY, OPERATOR_SEED, POLICY, PARTNER_PUBLIC_KEY } from './testing/records.suite.ts'

let signer: Signer
beforeAll(async () => {
  signer = await seedSigner('ops-1', OPERATOR_SEED)
})

let server: TestServer | undefined
afterEach(() => server?.close())

async function connect(
  reply: (target: string, count: number) => Reply,
  options: Partial<ClientOptions> = {},
): Promise<{ client: Client; server: TestServer }> {
  server = await listen((request, count) => reply(request.target, count))
  const client = createAuthorityClient({
    url: server.url,
    operator: { signer, audience: NA_PUBLIC_KEY },
    retry: { firstDelayMs: 1 },
    ...options,
  })
  return { client, server }
}

describe('a signed call', () => {
  it('verifies at the authority it was meant for and at no other', async () => {
    const { client, server } = await connect(() => ({ json: { versions: [] } }))
    await client.policy.history({ limit: 10, cursor: 'a b+c' })
    const [request] = server.received
    if (request === undefined) throw new Error('no request')
    expect(await isSignedFor(NA_PUBLIC_KEY, signer.publicKey, request)).toBe(true)
    expect(await isSignedFor(PARTNER_PUBLIC_KEY, signer.publicKey, request)).toBe(false)
  })

  it('covers a path with encoded characters', async () => {
    const reply = { key_id: 'ops/2 é', revoked: true, already_revoked: true }
    const { client, server } = await connect(() => ({ json: reply }))
    await client.operatorKeys.revoke('ops/2 é', { reason: 'left' })
    const [request] = server.received
    if (request === undefined) throw new Error('no request')
    expect(request.target).toBe('/admin/operator-keys/ops%2F2%20%C3%A9/revoke')
    expect(await isSignedFor(NA_PUBLIC_KEY, signer.publicKey, request)).toBe(true)
  })

  it('writes its timestamp in the one form this product signs', async () => {
    const now = 1_893_553_200_000_000n
    const { client, server } = await connect(() => ({ json: { versions: [] } }), { clock: () => now })
    await client.policy.history()
    expect(server.received[0]?.headers['x-admin-timestamp']).toBe(writeInstant(now))
  })

  it('signs again for every attempt', async () => {
    const { client, server } = await connect((_target, count) =>
      count < 3 ? refusal(503, 'service_unavailable') : { json: { versions: [] } },
    )
    await client.policy.history()
    const nonces = server.received.map((request) => request.headers['x-admin-nonce'])
    expect(new Set(nonces).size).toBe(3)
    expect(new Set(server.received.map((request) => request.headers['x-request-id'])).size).toBe(1)
  })

  it('is not sent without an operator', async () => {
    server = await listen(() => ({}))
    const client = createAuthorityClient({ url: server.url })
    await expect(client.policy.rollback({ policy_id: 'p' })).rejects.toMatchObject({ name: 'UsageError' })
    expect(server.received).toHaveLength(0)
  })
})

describe('the audience', () => {
  it('is read once when the caller trusts the first one', async () => {
    const { client, server } = await connect(
      (target) => ({ json: target === '/sovereign.json' ? METADATA : { versions: [] } }),
      { operator: { signer, trustFirstAudience: true } },
    )
    await Promise.all([client.policy.history(), client.policy.history()])
    expect(server.received.filter((request) => request.target === '/sovereign.json')).toHaveLength(1)
    const signed = server.received.filter((request) => request.target !== '/sovereign.json')
    for (const request of signed) expect(await isSignedFor(NA_PUBLIC_KEY, signer.publicKey, request)).toBe(true)
  })

  it('is asked for again after a failure', async () => {
    const { client } = await connect(
      (target, count) =>
        count === 1
          ? refusal(500, 'internal_server_error')
          : { json: target === '/sovereign.json' ? METADATA : { versions: [] } },
      { operator: { signer, trustFirstAudience: true } },
    )
    await expect(client.policy.history()).rejects.toMatchObject({ code: 'internal_server_error' })
    await expect(client.policy.history()).resolves.toMatchObject({ versions: [] })
  })

  it('is never fetched when it is pinned', async () => {
    const { client, server } = await connect(() => ({ json: { versions: [] } }))
    await client.policy.history()
    expect(server.received.map((request) => request.target)).toEqual(['/admin/policy/history'])
  })

  it('must be chosen one way or the other', () => {
    const careless = { signer } as unknown as { signer: Signer; trustFirstAudience: true }
    expect(() => createAuthorityClient({ url: 'http://na', operator: careless })).toThrow('pin the audience')
    expect(() => createAuthorityClient({ url: 'http://na', operator: { signer, audience: 'x' } })).toThrow('public key')
  })
})

describe('retries', () => {
  it('do not repeat a publish without an id whose fate is unknown', async () => {
    const { client, server } = await connect(() => ({ destroy: true }))
    await expect(client.policy.publish({})).rejects.toMatchObject({ sent: 'perhaps' })
    expect(server.received).toHaveLength(1)
  })

  it('repeat a publish under an id', async () => {
    const { client, server } = await connect((_target, count) => (count === 1 ? { destroy: true } : { json: POLICY }))
    await expect(client.policy.publish({ policy_id: POLICY.policy_id })).resolves.toMatchObject({ created: false })
    expect(server.received).toHaveLength(2)
  })

  it('repeat a read whose connection broke', async () => {
    const { client } = await connect((_target, count) => (count === 1 ? { destroy: true } : { json: POLICY }))
    await expect(client.policy.current()).resolves.toMatchObject({ policy_id: POLICY.policy_id })
  })

  it('leave "not ready" to the caller', async () => {
    const { client, server } = await connect(() => refusal(503, 'service_not_ready', { instance: 'a' }))
    await expect(client.health.readyz()).rejects.toMatchObject({
      code: 'service_not_ready',
      details: { instance: 'a' },
    })
    expect(server.received).toHaveLength(1)
  })
})

describe('secrets', () => {
  it('stay out of errors and of the inspected client', async () => {
    const { client } = await connect(() => refusal(400, 'invalid_policy'))
    const error: unknown = await client.policy.publish({ policy_id: 'p' }).catch((thrown: unknown) => thrown)
    for (const shown of [
      inspect(error, { depth: 9, showHidden: true }),
      inspect(client, { depth: 9, showHidden: true }),
    ]) {
      expect(shown).not.toContain(OPERATOR_SEED)
      expect(shown).not.toContain('X-Admin-Signature')
    }
  })
})

describe('every request', () => {
  it('carries an id and no cookie', async () => {
    const { client, server } = await connect(() => ({ json: POLICY, headers: { 'Set-Cookie': 'a=b' } }))
    await client.policy.current()
    await client.policy.current()
    for (const { headers } of server.received) {
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
      expect(headers.cookie).toBeUndefined()
    }
  })

  it('can be aborted', async () => {
    const { client } = await connect(() => ({ hang: true }))
    await expect(client.policy.current({ signal: AbortSignal.timeout(30) })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
  })
})
