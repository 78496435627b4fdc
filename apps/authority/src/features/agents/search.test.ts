import { draftAgentDescriptor, seconds, signList, writeInstant, writeSortable } from '@chancery/protocol'
import type { JsonObject, Signer } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  seedCertificates,
  refused,
  startTestAuthority,
  testSigner,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0
const db = () => rowsOf(na.core.database)

async function newAgent(capabilities: readonly string[], lifetime = 600): Promise<Signer> {
  const name = `search-${(counter += 1)}`
  const signer = await testSigner((await testSigner('node', name)).publicKey, name)
  await seedCertificates(na.parts, { count: 1, node_public_key: signer.publicKey })
  await announce(signer, capabilities, lifetime)
  return signer
}

async function announce(signer: Signer, capabilities: readonly string[], lifetime = 600): Promise<void> {
  const draft = draftAgentDescriptor({
    agent_id: 'llm-1',
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities,
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(clock.now()),
    expires_at: writeInstant(clock.now() + seconds(lifetime)),
  })
  accepted(await na.request('POST', '/agents', { body: await signList(draft, signer) }))
}

async function search(capability: string, more = ''): Promise<JsonObject> {
  return accepted(await na.request('GET', `/agents?capability=${encodeURIComponent(capability)}${more}`))
}

const keysOf = (answer: JsonObject): unknown[] =>
  (answer['agents'] as JsonObject[]).map((agent) => agent['node_public_key'])

/** Reads all pages, by cursor or by offset. */
async function walk(capability: string, limit: number, by: 'next_cursor' | 'next_offset'): Promise<unknown[]> {
  const keys: unknown[] = []
  let place = ''
  for (let pages = 0; pages < 200; pages += 1) {
    const answer = await search(capability, `&limit=${limit}${place}`)
    keys.push(...keysOf(answer))
    expect(answer['count']).toBe((answer['agents'] as JsonObject[]).length)
    const next = answer[by]
    if (next === null) return keys
    expect(answer['count']).toBe(limit)
    place = `&${by === 'next_cursor' ? 'cursor' : 'offset'}=${String(next)}`
  }
  throw new Error('the pages do not end')
}

describe('GET /agents?capability', () => {
  it('returns agents that have exactly this tag', async () => {
    const exact = await newAgent(['exact', 'exact:more', 'Exact2'])
    await newAgent(['exac', 'exactly', 'ex_ct', 'e%'])
    expect(keysOf(await search('exact'))).toEqual([exact.publicKey])
    expect(keysOf(await search('exact:more'))).toEqual([exact.publicKey])
    for (const tag of ['%', '_xact', 'exact%', 'EXACT', 'exact ', 'exact2', "exact' or '1'='1", 'x'.repeat(200)])
      expect(await search(tag), tag).toEqual({ count: 0, capability: tag, agents: [] })
    expect(await search('e%')).toMatchObject({ count: 1 })
  })

  it('returns descriptors that verify elsewhere, and no paging members unless the caller asks for pages', async () => {
    const signer = await newAgent(['verifies', 'verifies', 'b'])
    const answer = await search('verifies')
    expect(Object.keys(answer)).toEqual(['count', 'capability', 'agents'])
    const [agent] = answer['agents'] as JsonObject[]
    expect(verifiesWithNodeCrypto(JSON.stringify(agent), signer.publicKey)).toBe(true)
  })

  it('newest first, and a refresh makes an agent the newest', async () => {
    const agents: Signer[] = []
    for (let index = 0; index < 5; index += 1) {
      agents.push(await newAgent(['newest']))
      clock.advance(1)
    }
    const keys = agents.map((signer) => signer.publicKey)
    expect(keysOf(await search('newest'))).toEqual(keys.toReversed())
    const [first] = agents
    if (first !== undefined) await announce(first, ['newest'])
    expect(keysOf(await search('newest'))).toEqual([keys[0], ...keys.slice(1).toReversed()])
  })

  describe('pages', () => {
    const HUGE = 'pages:huge'
    // The counter of the most common tag represents the size of the registry and decides which plan is cheaper.
    const plans = [
      ['from the postings', () => setCount(HUGE, 1_000_000_000)],
      ['from the newest', () => setCount(HUGE, 1)],
    ] as const
    afterEach(() => setCount(HUGE, 0))

    async function setCount(capability: string, agents: number): Promise<void> {
      await db().deleteFrom('agent_capability_counts').where('capability', '=', capability).execute()
      if (agents > 0) await db().insertInto('agent_capability_counts').values({ capability, agents }).execute()
    }

    let whole: unknown[]
    beforeAll(async () => {
      for (let index = 0; index < 40; index += 1) {
        await newAgent(index % 2 === 0 ? ['paged', 'other'] : index % 3 === 0 ? ['paged'] : ['other'])
        // Several agents share one time.
        if (index % 4 === 0) clock.advance(1)
      }
      const rows = await db()
        .selectFrom('agent_registrations')
        .select(['node_public_key', 'registered_at'])
        .where('capabilities_json', 'like', '%"paged"%')
        .execute()
      rows.sort((a, b) => {
        if (a.registered_at !== b.registered_at) return a.registered_at < b.registered_at ? 1 : -1
        return a.node_public_key < b.node_public_key ? -1 : 1
      })
      whole = rows.map((row) => row.node_public_key)
    })

    it.each(plans)('%s: the pages together are the whole list', async (_, force) => {
      await force()
      expect(whole).toHaveLength(27)
      expect(keysOf(await search('paged'))).toEqual(whole)
      for (const limit of [1, 2, 5, 9, 26, 27, 28, 1000]) {
        expect(await walk('paged', limit, 'next_cursor'), `cursor, ${limit}`).toEqual(whole)
        expect(await walk('paged', limit, 'next_offset'), `offset, ${limit}`).toEqual(whole)
      }
      expect(keysOf(await search('paged', '&offset=20'))).toEqual(whole.slice(20))
      expect(keysOf(await search('paged', '&offset=10000'))).toEqual([])
    })

    it.each(plans)('%s: total is exact', async (_, force) => {
      await force()
      for (const more of ['&limit=1', '&limit=1000', '&offset=26', '&offset=9999'])
        expect((await search('paged', more))['total'], more).toBe(27)
      expect(await search('no-such-tag', '&limit=5')).toEqual({
        count: 0,
        capability: 'no-such-tag',
        agents: [],
        total: 0,
        next_offset: null,
        next_cursor: null,
      })
    })

    it.each(plans)('%s: a cursor continues after a removed agent and repeats none', async (_, force) => {
      await force()
      const agents: Signer[] = []
      for (let index = 0; index < 8; index += 1) agents.push(await newAgent([`gone-${counter - index}`, 'gone']))
      const first = await search('gone', '&limit=4')
      const seen = keysOf(first)
      await db()
        .deleteFrom('agent_capabilities')
        .where('node_public_key', '=', String(seen.at(-1)))
        .execute()
      const rest = keysOf(await search('gone', `&limit=4&cursor=${String(first['next_cursor'])}`))
      expect(new Set([...seen, ...rest]).size).toBe(8)
      const keys = agents.map((signer) => signer.publicKey)
      await db().deleteFrom('agent_capabilities').where('node_public_key', 'in', keys).execute()
      await setCount('gone', 0)
    })

    it.each([
      'limit=0',
      'limit=1001',
      'limit=01',
      'limit=1.0',
      'limit=-1',
      'limit=',
      'limit=x',
      'offset=-1',
      'offset=10001',
      'offset=%201',
      'cursor=',
      'cursor=x',
      `cursor=${Buffer.from('1|nowhere').toString('base64url')}`,
      `cursor=${Buffer.from(`2|2026-01-02T03:04:05.000000Z|${'A'.repeat(43)}=`).toString('base64url')}`,
      `offset=1&cursor=${Buffer.from(`1|2026-01-02T03:04:05.000000Z|${'A'.repeat(43)}=`).toString('base64url')}`,
    ])('400 invalid_page: %s', async (query) => {
      refused(await na.request('GET', `/agents?capability=paged&${query}`), 400, 'invalid_page')
    })
  })

  it('a total is exact up to 10,000 matches and null above; expired agents are not counted', async () => {
    await newAgent(['one'])
    const { descriptor_json } = await db()
      .selectFrom('agent_registrations')
      .select('descriptor_json')
      .executeTakeFirstOrThrow()
    const at = writeSortable(clock.now())
    const [live, past] = [writeSortable(clock.now() + seconds(60)), writeSortable(clock.now())]
    const seed = async (from: number, count: number, expires_at: string): Promise<void> => {
      for (let done = 0; done < count; done += 1000) {
        const keys = Array.from({ length: Math.min(1000, count - done) }, (_, index) => `many-${from + done + index}`)
        await db()
          .insertInto('agent_registrations')
          .values(
            keys.map((node_public_key) => ({
              node_public_key,
              agent_id: 'x',
              descriptor_json,
              capabilities_json: '["many"]',
              registered_at: at,
              expires_at,
              listed: 1,
            })),
          )
          .execute()
        const postings = keys.map((node_public_key) => ({ capability: 'many', node_public_key }))
        await db().insertInto('agent_capabilities').values(postings).execute()
      }
      await db()
        .insertInto('agent_capability_counts')
        .values({ capability: 'many', agents: from + count })
        .onConflict((conflict) => conflict.column('capability').doUpdateSet({ agents: from + count }))
        .execute()
    }
    await seed(0, 10_000, live)
    expect(await search('many', '&limit=1')).toMatchObject({ total: 10_000, next_offset: 1 })
    await seed(10_000, 1, past)
    expect((await search('many', '&limit=1'))['total']).toBe(10_000)
    await seed(10_001, 1, live)
    expect((await search('many', '&limit=1'))['total']).toBeNull()
    // The caller did not ask for pages, but rows were left out, so the response has paging members.
    const answer = await search('many')
    expect(answer).toMatchObject({ count: 1000, total: null, next_offset: 1000, next_cursor: expect.any(String) })
    expect(await search('many', '&limit=1&offset=10000')).toMatchObject({ count: 1, next_offset: null })
  })
})

describe('GET /agents', () => {
  it.each(['/agents', '/agents?capability=', '/agents?limit=5'])(
    '%s returns the number of agents and no agent',
    async (target) => {
      const before = accepted(await na.request('GET', target))
      expect(before).toEqual({ count: expect.any(Number), capability: null })
      await newAgent(['counted'])
      await newAgent([], 10)
      const count = Number(before['count'])
      expect(accepted(await na.request('GET', target))).toEqual({ count: count + 2, capability: null })
      clock.advance(10)
      const after = accepted(await na.request('GET', target))
      expect(Number(after['count'])).toBeLessThan(count + 2)
    },
  )
})

describe('GET /agents/{node_public_key}', () => {
  it('returns the descriptor for the key, unencoded and percent encoded', async () => {
    let signer = await newAgent(['one'])
    while (!signer.publicKey.includes('/')) signer = await newAgent(['one'])
    const answers = await Promise.all(
      [signer.publicKey, encodeURIComponent(signer.publicKey)].map((key) => na.request('GET', `/agents/${key}`)),
    )
    for (const answer of answers) expect(verifiesWithNodeCrypto(answer.text, signer.publicKey)).toBe(true)
  })

  it.each(['nobody', 'A'.repeat(43), "' or 1=1"])('404 agent_not_registered: %j', async (key) => {
    refused(await na.request('GET', `/agents/${encodeURIComponent(key)}`), 404, 'agent_not_registered')
  })

  it('reading writes nothing, however many agents have expired', async () => {
    await newAgent(['read-only'], 5)
    clock.advance(5)
    const rows = () => db().selectFrom('agent_registrations').selectAll().orderBy('node_public_key').execute()
    const before = await rows()
    await search('read-only', '&limit=1')
    accepted(await na.request('GET', '/agents'))
    expect(await rows()).toEqual(before)
  })
})
