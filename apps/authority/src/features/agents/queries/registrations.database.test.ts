import { randomUUID } from 'node:crypto'
import { type TestAuthority, currentBackend, startTestAuthority } from '@chancery/testkit'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RegistrationOutcome, type RegistrationRow, countDeltas, registerAgents } from './registrations.ts'
import type { Tables } from '../../../database/tables.ts'
import { rowsOf } from '../../../testing/rows.suite.ts'

const NOW = '2026-01-02T03:04:05.000000Z'
// Far away: the authority under test purges what its own clock calls expired.
const LATER = '2099-01-02T03:14:05.000000Z'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const db = () => rowsOf(na.core.database)
const register = (...rows: RegistrationRow[]): Promise<readonly RegistrationOutcome[]> =>
  registerAgents(na.core.database, rows, NOW)

async function newKey(columns: Partial<Tables['issued_certs']> = {}): Promise<string> {
  const node_public_key = columns.node_public_key ?? `key-${randomUUID()}`
  await db()
    .insertInto('issued_certs')
    .values({
      cert_id: randomUUID(),
      node_public_key,
      cert_json: '{}',
      roles_json: '[]',
      issued_at: NOW,
      expires_at: LATER,
      max_validity_hours: 24,
      status: 'issued',
      renewed_from: null,
      revoke_after: null,
      list_after: null,
      revoked_at: null,
      revocation_reason: null,
      ...columns,
    })
    .execute()
  return node_public_key
}

function newRow(node_public_key: string, second = 0, tags: readonly string[] = ['a', 'b']): RegistrationRow {
  const capabilities = [...new Set(tags)].sort()
  const event_id = randomUUID()
  return {
    node_public_key,
    agent_id: `agent-${second}`,
    host: 'agent.example',
    descriptor_json: JSON.stringify({ second, capabilities }),
    capabilities,
    capabilities_json: JSON.stringify(capabilities),
    registered_at: `2026-01-02T03:04:${String(second).padStart(2, '0')}.000000Z`,
    expires_at: LATER,
    event_id,
    event_json: JSON.stringify({ event_id }),
  }
}

const stored = (key: string) =>
  db().selectFrom('agent_registrations').selectAll().where('node_public_key', '=', key).executeTakeFirst()
const postings = async (key: string): Promise<string[]> =>
  (await db().selectFrom('agent_capabilities').selectAll().where('node_public_key', '=', key).execute())
    .map((row) => row.capability)
    .sort()
const isAudited = async ({ event_id }: RegistrationRow): Promise<boolean> =>
  (await db().selectFrom('audit_events').selectAll().where('event_id', '=', event_id).execute()).length > 0

describe('registerAgents', () => {
  it('writes row, postings and event', async () => {
    const row = newRow(await newKey())
    expect(await register(row)).toEqual(['registered'])
    const { capabilities: _, event_id: _id, event_json: _json, ...columns } = row
    expect(await stored(row.node_public_key)).toEqual({ ...columns, listed: 1 })
    expect(await postings(row.node_public_key)).toEqual(['a', 'b'])
    expect(await isAudited(row)).toBe(true)
  })

  it('checks two descriptors of one key in a batch one after the other', async () => {
    const key = await newKey()
    const [second, first, third] = [newRow(key, 2, ['x']), newRow(key, 1, ['y']), newRow(key, 3, ['z'])]
    expect(await register(second, first, third)).toEqual(['registered', 'older', 'registered'])
    expect(await stored(key)).toMatchObject({ agent_id: 'agent-3' })
    expect(await postings(key)).toEqual(['z'])
  })

  it('a batch holds good and bad rows, and only the good ones are stored', async () => {
    const [good, none] = [newRow(await newKey()), newRow(`key-${randomUUID()}`)]
    const revoked = newRow(await newKey({ status: 'revoked', revocation_reason: 'key_compromise' }))
    await newKey({ node_public_key: revoked.node_public_key })
    expect(await register(none, revoked, good)).toEqual(['no_certificate', 'key_revoked', 'registered'])
    for (const { node_public_key } of [none, revoked]) {
      expect(await stored(node_public_key)).toBeUndefined()
      expect(await postings(node_public_key)).toEqual([])
    }
    expect(await isAudited(none)).toBe(false)
  })

  it.each<[string, Partial<Tables['issued_certs']>, RegistrationOutcome]>([
    ['valid from now on', { issued_at: NOW }, 'registered'],
    ['not yet valid', { issued_at: '2026-01-02T03:04:05.000001Z' }, 'no_certificate'],
    ['ending now', { expires_at: NOW }, 'no_certificate'],
    ['to be revoked now', { revoke_after: NOW }, 'no_certificate'],
    ['to be revoked later', { revoke_after: LATER }, 'registered'],
    ['revoked', { status: 'revoked', revocation_reason: 'superseded' }, 'no_certificate'],
  ])('a certificate %s', async (_, columns, outcome) => {
    expect(await register(newRow(await newKey(columns)))).toEqual([outcome])
  })

  it.each<[string, boolean, RegistrationOutcome]>([
    ['superseded', true, 'registered'],
    ['cessation_of_operation', true, 'key_revoked'],
    ['cessation_of_operation', false, 'registered'],
    ['key_compromise', false, 'key_revoked'],
  ])('a sister revoked as %s, in the list: %j', async (revocation_reason, isListed, outcome) => {
    const key = await newKey()
    const cert_id = randomUUID()
    await newKey({ node_public_key: key, cert_id, status: 'revoked', revocation_reason })
    if (isListed) {
      const position = Math.floor(Math.random() * 1e9)
      await db().insertInto('crl_entries').values({ position, cert_id, entry_json: '{}', expires_at: LATER }).execute()
    }
    expect(await register(newRow(key))).toEqual([outcome])
  })

  it('nothing up to the moment of a delete, anything after it', async () => {
    const key = await newKey()
    await db()
      .insertInto('agent_tombstones')
      .values({ node_public_key: key, signed_at: newRow(key, 5).registered_at, keep_until: LATER })
      .execute()
    expect(await register(newRow(key, 4), newRow(key, 5), newRow(key, 6))).toEqual(['older', 'older', 'registered'])
  })

  it('a change of tags touches only the postings that changed', async () => {
    const key = await newKey()
    await register(newRow(key, 1, ['keep', 'drop']))
    const before = await versions(key)
    await register(newRow(key, 2, ['keep', 'add']))
    const after = await versions(key)
    expect([...after.keys()].sort()).toEqual(['add', 'keep'])
    expect(after.get('keep')).toBe(before.get('keep'))
  })

  it('a refresh with the same tags touches no posting and no counter', async () => {
    const key = await newKey()
    const tags = [1, 2, 3, 4, 5].map((index) => `unmoved-${index}`)
    await register(newRow(key, 1, tags))
    const before = { postings: await versions(key), counters: await counterVersions() }
    for (let second = 2; second < 12; second += 1) {
      // Other order, repeated tags: still the same set.
      expect(await register(newRow(key, second, [...tags.toReversed(), 'unmoved-1']))).toEqual(['registered'])
    }
    expect({ postings: await versions(key), counters: await counterVersions() }).toEqual(before)
    expect(await stored(key)).toMatchObject({ agent_id: 'agent-11' })
  })

  /** The position of a posting and its transaction: another version of the row would be elsewhere. */
  async function versions(key: string): Promise<Map<string, string>> {
    const place = currentBackend() === 'postgres' ? sql`ctid::text || '/' || xmin::text` : sql`rowid`
    const rows = await db()
      .selectFrom('agent_capabilities')
      .select(['capability', place.as('place')])
      .where('node_public_key', '=', key)
      .execute()
    return new Map(rows.map((row) => [row.capability, String(row.place)]))
  }

  async function counterVersions(): Promise<unknown> {
    const place = currentBackend() === 'postgres' ? sql`ctid::text || '/' || xmin::text` : sql`agents`
    return db()
      .selectFrom('agent_capability_counts')
      .select(['capability', place.as('place')])
      .where('capability', 'like', 'unmoved-%')
      .orderBy('capability')
      .execute()
  }

  it('counters are the number of postings after any batches', async () => {
    const keys = await Promise.all([1, 2, 3, 4].map(() => newKey()))
    const tag = fc.constantFrom('c:1', 'c:2', 'c:3', 'c:4')
    const row = fc.record({
      key: fc.constantFrom(...keys),
      second: fc.integer({ min: 0, max: 59 }),
      tags: fc.array(tag, { maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 10 }), async (batch) => {
        await register(...batch.map(({ key, second, tags }) => newRow(key, second, tags)))
        const counted = await db()
          .selectFrom('agent_capabilities')
          .select((eb) => ['capability', eb.fn.countAll<number>().as('agents')])
          .where('capability', 'like', 'c:%')
          .groupBy('capability')
          .execute()
        const counters = await db()
          .selectFrom('agent_capability_counts')
          .selectAll()
          .where('capability', 'like', 'c:%')
          .where('agents', '!=', 0)
          .execute()
        const toMap = (rows: readonly { capability: string; agents: number }[]): Map<string, number> =>
          new Map(rows.map((each) => [each.capability, Number(each.agents)]))
        expect(toMap(counters)).toEqual(toMap(counted))
        for (const key of keys) {
          const held = await stored(key)
          expect(await postings(key)).toEqual(JSON.parse(held?.capabilities_json ?? '[]'))
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('countDeltas', () => {
  it('sums by tag, in the order of tags, without zeros', () => {
    const deltas = countDeltas([
      { node_public_key: '1', removed: ['z', 'b'], added: ['a'] },
      { node_public_key: '2', removed: ['z'], added: ['b', 'a'] },
    ])
    expect([...deltas]).toEqual([
      ['a', 2],
      ['z', -2],
    ])
  })
})
