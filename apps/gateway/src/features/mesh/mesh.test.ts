import { HOUR, type JsonObject, canonicalBytes, toBase64, writeInstant, writeJson } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testIssuer,
  testClient,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway, TestIssuer } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ScriptedAuthority, startScriptedAuthority } from '../../scripted-authority.suite.ts'

const clock = new ManualClock('2026-03-02T12:00:00Z')
const who = testClient('who', ['alpha'])
let issuers: Readonly<Record<'alpha' | 'beta' | 'closed', TestIssuer>>
let authorities: Readonly<Record<'alpha' | 'beta' | 'closed', ScriptedAuthority>>
let gateway: TestGateway

async function signed(by: TestIssuer, record: JsonObject): Promise<JsonObject> {
  const sig = toBase64(await by.signer.sign(canonicalBytes(record)))
  return { ...record, signatures: [{ key_id: by.keyId, sig }] }
}

/** A treaty with the other network, a feed, and the imported feed of the other network. */
async function serve(name: 'alpha' | 'beta', other: string, published: number, imported: number): Promise<void> {
  const now = clock.now()
  const by = issuers[name]
  const times = { issued_at: writeInstant(now), valid_from: writeInstant(now), expires_at: writeInstant(now + HOUR) }
  const treaty = await signed(by, {
    treaty_id: `${name}-to-${other}`,
    issuer_sovereign_id: name,
    subject_sovereign_id: other,
    scope: { allowed_roles: ['role:client'] },
    status: 'active',
    ...times,
  })
  const feed = await signed(by, {
    issuer_sovereign_id: name,
    sequence: published,
    issued_at: writeInstant(now),
    issued_by: by.keyId,
  })
  const imports = [{ issuer_sovereign_id: other, sequence: imported, imported_at: writeInstant(now) }]
  const documents: Readonly<Record<string, JsonObject>> = {
    '/recognition-treaties?status=active&limit=500': { recognition_treaties: [{ status: 'active', treaty }] },
    '/attestations?status=active&published=true&limit=500': { attestations: [] },
    '/dashboard.json': { revocation_feeds: imports },
    '/sovereign-revocation-feed': feed,
  }
  authorities[name].answer = ({ target }) => ({ body: writeJson(documents[target] ?? {}) })
}

async function policy(published: readonly string[]): Promise<JsonObject> {
  const networks: Record<string, JsonObject> = {}
  for (const name of ['alpha', 'beta', 'closed'] as const) {
    const by = issuers[name]
    networks[name] = testNetwork(by, await testList(by, clock.now()), {
      authority_url: authorities[name].url,
      allow_http: true,
      public_mesh: published.includes(name),
    })
  }
  return testPolicy(networks, [who])
}

beforeAll(async () => {
  issuers = { alpha: await testIssuer('alpha'), beta: await testIssuer('beta'), closed: await testIssuer('closed') }
  authorities = {
    alpha: await startScriptedAuthority(),
    beta: await startScriptedAuthority(),
    closed: await startScriptedAuthority(),
  }
  await serve('alpha', 'beta', 4, 2)
  await serve('beta', 'alpha', 3, 4)
  gateway = await startTestGateway({ policy: await policy(['alpha', 'beta']), clock })
})
afterAll(async () => {
  await gateway.stop()
  for (const authority of Object.values(authorities)) await authority.stop()
})

const read = async () => (await gateway.request('GET', '/v1/mesh')).body as Record<string, never>

it('shows published networks, their treaties and which feed sequence each has imported', async () => {
  expect(await read()).toEqual({
    observed_at: '2026-03-02T12:00:00Z',
    refresh_seconds: 20,
    networks: ['alpha', 'beta'].map((id) => ({
      id,
      available: true,
      trust_ready: true,
      crl_sequence: 9,
      source_feed: { sequence: id === 'alpha' ? 4 : 3, issued_at: '2026-03-02T12:00:00Z', signature_verified: true },
      imports_available: true,
      imports: [
        {
          issuer: id === 'alpha' ? 'beta' : 'alpha',
          sequence: id === 'alpha' ? 2 : 4,
          imported_at: '2026-03-02T12:00:00Z',
        },
      ],
      member_count: 0,
      members_truncated: false,
      links_truncated: false,
    })),
    links: ['alpha', 'beta'].map((from) => ({
      id: from === 'alpha' ? 'alpha-to-beta' : 'beta-to-alpha',
      from,
      to: from === 'alpha' ? 'beta' : 'alpha',
      roles: ['role:client'],
      issued_at: '2026-03-02T12:00:00Z',
      expires_at: '2026-03-02T13:00:00Z',
    })),
    members: [],
    synchronization: [
      {
        consumer: 'alpha',
        publisher: 'beta',
        status: 'behind',
        published_sequence: 3,
        imported_sequence: 2,
        last_imported_at: '2026-03-02T12:00:00Z',
      },
      {
        consumer: 'beta',
        publisher: 'alpha',
        status: 'current',
        published_sequence: 4,
        imported_sequence: 4,
        last_imported_at: '2026-03-02T12:00:00Z',
      },
    ],
    network_limit: 16,
    member_limit_per_network: 64,
    link_limit_per_network: 256,
  })
  for (const { headers } of authorities.alpha.seen) expect(headers['authorization']).toBeUndefined()
  expect(authorities.closed.seen).toEqual([])
})

it('sends each authority four requests per 20 s, for any number of callers', async () => {
  const before = authorities.alpha.seen.length
  await Promise.all(Array.from({ length: 20 }, read))
  clock.advance(20)
  await read()
  expect(authorities.alpha.seen.length).toBe(before)
  clock.advance(41)
  const answers = await Promise.all(Array.from({ length: 20 }, read))
  expect(authorities.alpha.seen.length).toBe(before + 4)
  expect(new Set(answers.map((response) => JSON.stringify(response))).size).toBe(1)
  expect(answers[0]?.['stale']).toBeUndefined()
})

it('a copy older than 20 s is returned immediately as stale, and a failed authority then shows nothing', async () => {
  const before = await read()
  clock.advance(21)
  authorities.alpha.answer = () => ({ status: 500 })
  expect(await read()).toEqual({ ...before, stale: true })
  let after = await read()
  while (after['stale'] !== undefined) after = await read()
  expect((after['networks'] as unknown as { available: boolean }[]).map(({ available }) => available)).toEqual([
    false,
    true,
  ])
  expect((after['links'] as unknown as { from: string }[]).map(({ from }) => from)).toEqual(['beta'])
})

it('a network that is no longer published is not in the next response', async () => {
  await gateway.reload(await policy(['beta']))
  const view = await read()
  expect((view['networks'] as unknown as { id: string }[]).map(({ id }) => id)).toEqual(['beta'])
  expect(JSON.stringify(view)).not.toContain('alpha')
})

it('without a published network no request is sent', async () => {
  await gateway.reload(await policy([]))
  const before = Object.values(authorities).map(({ seen }) => seen.length)
  expect(await read()).toMatchObject({ networks: [], links: [], members: [], synchronization: [] })
  expect(Object.values(authorities).map(({ seen }) => seen.length)).toEqual(before)
})

it('shows what the former key of an authority signed, while it is pinned and afterwards by the key history', async () => {
  await serve('beta', 'alpha', 3, 4)
  const [old, next] = [issuers.beta, await testIssuer('beta', 'na-next')]
  const entry = testNetwork(next, await testList(next, clock.now()), {
    authority_url: authorities.beta.url,
    allow_http: true,
    public_mesh: true,
  })
  const pinned = { additional_issuers: { [old.keyId]: testNetwork(old, await testList(old, clock.now())) } }
  const time = { valid_from: '2026-01-01T00:00:00Z', valid_to: '2099-01-01T00:00:00Z' }
  const history = { former_keys: [{ key_id: old.keyId, public_key: old.signer.publicKey, ...time }] }
  const shownWith = async (more: JsonObject): Promise<readonly unknown[]> => {
    await gateway.reload(testPolicy({ beta: { ...entry, ...more } }, [testClient('who', ['beta'])]))
    const { networks } = (await read()) as unknown as { networks: { source_feed: { sequence: number } | null }[] }
    return networks.map(({ source_feed }) => source_feed?.sequence)
  }
  expect(await shownWith({})).toEqual([undefined])
  expect(await shownWith(pinned)).toEqual([3])
  expect(await shownWith(history)).toEqual([3])
})
