import { type JsonObject, writeInstant } from '@chancery/protocol'
import { ManualClock, accepted, enroll, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { foldLabel } from '../enrollment/index.ts'
import { momentOf } from './mark-silent.job.ts'
import { SEGMENTS, beginsId, readCandidates } from './queries/segments.ts'
import { type WalkPlan, walkNodes } from './walk.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeEach(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', RENEWAL_GRACE_SECONDS: '0' } })
})
afterEach(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'roster', clock)
const get = (query = ''): Promise<TestResponse> => na.as('standard')('GET', `/admin/nodes${query}`)
const page = async (query = ''): Promise<JsonObject> => accepted(await get(query))
const rowsOf = (answer: JsonObject): readonly JsonObject[] => answer['nodes'] as readonly JsonObject[]
const keys = async (query = ''): Promise<readonly unknown[]> =>
  rowsOf(await page(query)).map((row) => row['node_public_key'])
const label = async (node: NodeCaller, text: string): Promise<unknown> =>
  accepted(await na.as('standard')('POST', '/admin/nodes/label', { node_public_key: node.key, label: text }))
const beat = async (node: NodeCaller, cert_id: string): Promise<unknown> =>
  accepted(await node.heartbeat(cert_id, { status: 'ok' }))

/** One node in each state but superseded, made in this order. */
async function network() {
  const [revoked, expired, silent, ending, active] = [
    await newNode(),
    await newNode(),
    await newNode(),
    await newNode(),
    await newNode(),
  ]
  const gone = await enroll(na, revoked)
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: gone.cert_id, reason: 'unspecified' }))
  await enroll(na, expired, { max_validity_hours: 1 })
  clock.advance(1)
  await enroll(na, silent, { roles: ['role:anchor'], max_validity_hours: 720 })
  clock.advance(7200)
  await enroll(na, ending, { max_validity_hours: 2 })
  clock.advance(1)
  const { cert_id } = await enroll(na, active, { max_validity_hours: 720 })
  return { revoked, expired, silent, ending, active, cert_id }
}

const WRONG = [
  ['sate=silent', 'unexpected_field'],
  ['offset=1', 'unexpected_field'],
  ['state=valid', 'invalid_input'],
  ['sort=key', 'invalid_input'],
  ['has_agent=1', 'invalid_input'],
  ['q=', 'invalid_input'],
  [`q=${'x'.repeat(129)}`, 'invalid_input'],
  [`role=${'x'.repeat(129)}`, 'invalid_input'],
  ['joined_since=yesterday', 'invalid_timestamps'],
  ['limit=0', 'invalid_page'],
  ['limit=1001', 'invalid_page'],
  ['cursor=x', 'invalid_page'],
] as const

describe('GET /admin/nodes', () => {
  it('200: lists what needs a look first, with the state of each node and counts of all', async () => {
    const { revoked, expired, silent, ending, active } = await network()
    await label(revoked, 'Old crane')
    const answer = await page()
    expect(rowsOf(answer).map((row) => [row['node_public_key'], row['state']])).toEqual([
      [silent.key, 'silent'],
      [ending.key, 'ends_soon'],
      [revoked.key, 'revoked'],
      [active.key, 'active'],
      [expired.key, 'expired'],
    ])
    const one = { count: 1, more: false }
    expect(answer['counts']).toEqual({
      all: { count: 5, more: false },
      active: one,
      ends_soon: one,
      silent: one,
      superseded: { count: 0, more: false },
      revoked: one,
      expired: one,
    })
    expect(answer).toMatchObject({ count: 5, total: 5, next_cursor: null })
    expect(rowsOf(answer)[2]).toMatchObject({ label: 'Old crane', revocation_reason: 'unspecified' })
  })

  it('200: a node is silent from 300 s without a heartbeat on, and active after the next one', async () => {
    const { active, cert_id } = await network()
    clock.advance(299)
    expect(await keys('?state=active')).toEqual([active.key])
    clock.advance(1)
    expect(await keys('?state=active')).toEqual([])
    expect(await keys('?state=silent')).toContain(active.key)
    await beat(active, cert_id)
    expect(await keys('?state=active')).toEqual([active.key])
    expect(rowsOf(await page('?state=active'))[0]).toMatchObject({
      heartbeat_status: 'ok',
      last_heartbeat: writeInstant(clock.now()),
    })
  })

  it('200: filters by state, role, joining time, and finds prefixes in any case of a label', async () => {
    const { revoked, expired, silent, ending, active, cert_id } = await network()
    for (const [state, node] of Object.entries({ revoked, expired, silent, ends_soon: ending, active }))
      expect(await keys(`?state=${state}`), state).toEqual([node.key])
    expect(await keys('?role=role:anchor')).toEqual([silent.key])
    expect(await keys(`?joined_since=${writeInstant(clock.now())}`)).toEqual([active.key])
    await label(active, 'Dock 7')
    await label(silent, 'dock 12')
    expect(await keys('?q=DOCK')).toEqual([silent.key, active.key])
    expect(await keys('?q=dock%207')).toEqual([active.key])
    expect(await keys('?q=ock')).toEqual([])
    expect(await keys(`?q=${encodeURIComponent(active.key.slice(0, 12))}`)).toEqual([active.key])
    expect(await keys(`?q=${cert_id.slice(0, 10)}`)).toEqual([active.key])
    expect(new Set(await keys('?q=127.0.'))).toEqual(new Set([silent.key, ending.key, active.key, expired.key]))
    expect(await keys('?q=127.0.&state=expired')).toEqual([expired.key])
  })

  it('200: shows a renewed node once, and finds it by its former certificate', async () => {
    const node = await newNode()
    const first = await enroll(na, node)
    clock.advance(60)
    const second = accepted(await node.renew(first.cert_id), 201) as unknown as { cert_id: string }
    const rows = rowsOf(await page())
    expect(rows.map((row) => row['cert_id'])).toEqual([second.cert_id])
    expect(rows[0]).toMatchObject({ joined_at: first.issued_at, state: 'active' })
    expect(await keys(`?q=${first.cert_id}`)).toEqual([node.key])
  })

  it('200: pages give every node once in each order', async () => {
    const nodes = await network()
    await label(nodes.active, 'b')
    await label(nodes.expired, 'a')
    for (const query of ['sort=attention', 'sort=newest', 'sort=ends', 'sort=label', 'q=127.0.']) {
      const whole = await keys(`?${query}`)
      const walked: unknown[] = []
      for (let cursor = ''; ;) {
        const answer = await page(`?${query}&limit=1${cursor}`)
        walked.push(...rowsOf(answer).map((row) => row['node_public_key']))
        if (answer['next_cursor'] === null) break
        cursor = `&cursor=${String(answer['next_cursor'])}`
      }
      expect(walked, query).toEqual(whole)
      expect(whole, query).toHaveLength(query === 'q=127.0.' ? 4 : 5)
    }
    const { next_cursor } = await page('?sort=newest&limit=1')
    refused(await get(`?sort=label&q=x&cursor=${String(next_cursor)}`), 400, 'invalid_page')
  })

  it('reads a bounded number of nodes for a page, and continues from there', async () => {
    const { silent } = await network()
    const database = na.core.database
    const plan: WalkPlan = {
      moment: momentOf(clock.now(), 300),
      isLarge: false,
      joinedSince: undefined,
      q: '',
      folded: foldLabel(''),
      segments: ['newest'],
      matches: (row) => row.roles.includes('role:anchor'),
    }
    const first = await walkNodes(database, plan, { limit: 5, after: undefined }, 2)
    expect(first.rows).toEqual([])
    let after = first.next
    const found: string[] = []
    for (let pages = 0; after !== undefined && pages < 5; pages += 1) {
      const next = await walkNodes(database, plan, { limit: 5, after }, 2)
      found.push(...next.rows.map((row) => row.node_public_key))
      after = next.next
    }
    expect([found, after]).toEqual([[silent.key], undefined])
  })

  it.each(WRONG)('400: %s is %s', async (query, code) => {
    refused(await get(`?${query}`), 400, code)
  })

  it('401: without a signature', async () => {
    refused(await na.request('GET', '/admin/nodes'), 401, 'admin_auth_failed')
  })
})

describe('segments', () => {
  it('give candidates on this engine, in a large network, too', async () => {
    const { active } = await network()
    const walk = {
      moment: momentOf(clock.now(), 300),
      isLarge: true,
      joinedSince: undefined,
      q: active.key.slice(0, 4),
      folded: 'x',
    }
    for (const segment of SEGMENTS) {
      const rows = await readCandidates(na.core.database, segment, walk, { after: { at: '2', id: 'a' }, limit: 10 })
      expect(Array.isArray(rows), segment).toBe(true)
    }
  })

  it('search certificates only for what may begin an id', () => {
    expect(['0', 'abcdef01-', '01234567-89ab-cdef-0123-456789abcdef'].map(beginsId)).toEqual([true, true, true])
    expect(['g', '012345678', '-', 'ABC', '01234567-89ab-cdef-0123-456789abcdef0'].map(beginsId)).toEqual(
      Array.from({ length: 5 }, () => false),
    )
  })
})
