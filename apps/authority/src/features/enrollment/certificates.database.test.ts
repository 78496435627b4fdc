import { randomUUID } from 'node:crypto'
import { type JoinCertificate, type JsonObject, writeInstant, writeSortable } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { foldLabel } from './requests.ts'
import { type InventoryFilter, countInventory, readInventory } from './queries/inventory.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeEach(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', RENEWAL_GRACE_SECONDS: '0' } })
})
afterEach(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'inventory', clock)
const get = (query = ''): Promise<TestResponse> => na.as('standard')('GET', `/admin/certificates${query}`)
const page = async (query = ''): Promise<JsonObject> => accepted(await get(query))
const rowsOfPage = (answer: JsonObject): readonly JsonObject[] => answer['certificates'] as readonly JsonObject[]
const idsOf = (answer: JsonObject): readonly unknown[] => rowsOfPage(answer).map((row) => row['cert_id'])
const ids = async (query: string): Promise<readonly unknown[]> => idsOf(await page(query))
const label = (body: JsonObject): Promise<TestResponse> => na.as('standard')('POST', '/admin/nodes/label', body)
const renew = async (node: NodeCaller, cert_id: string): Promise<JoinCertificate> =>
  accepted(await node.renew(cert_id), 201) as unknown as JoinCertificate

/** A revoked certificate, a superseded one with its successor, and an expired one, in the order of issue. */
async function fourStates() {
  const [a, b, c] = [await newNode(), await newNode(), await newNode()]
  const revoked = await enroll(na, a)
  clock.advance(1)
  const expired = await enroll(na, c, { roles: ['role:anchor'], max_validity_hours: 1 })
  clock.advance(1)
  const superseded = await enroll(na, b)
  clock.advance(7200)
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: revoked.cert_id, reason: 'unspecified' }))
  const valid = await renew(b, superseded.cert_id)
  return { revoked, expired, superseded, valid }
}

const WRONG = [
  ['sate=valid', 'unexpected_field'],
  ['offset=1', 'unexpected_field'],
  ['state=lost', 'invalid_input'],
  ['label=', 'invalid_input'],
  ['cert_id=', 'invalid_input'],
  ['issued_since=yesterday', 'invalid_timestamps'],
  ['expires_before=', 'invalid_timestamps'],
  ['limit=0', 'invalid_page'],
  ['cursor=x', 'invalid_page'],
] as const

describe('GET /admin/certificates', () => {
  it('200: lists every certificate ever issued, newest first, with its state', async () => {
    const { revoked, expired, superseded, valid } = await fourStates()
    const answer = await page()
    expect(answer).toMatchObject({ count: 4, total: 4, next_cursor: null })
    expect(rowsOfPage(answer).map((row) => [row['cert_id'], row['state']])).toEqual([
      [valid.cert_id, 'valid'],
      [superseded.cert_id, 'superseded'],
      [expired.cert_id, 'expired'],
      [revoked.cert_id, 'revoked'],
    ])
    expect(rowsOfPage(answer)[1]).toEqual({
      cert_id: superseded.cert_id,
      node_public_key: superseded.node_public_key,
      roles: ['role:client'],
      issued_at: superseded.issued_at,
      expires_at: superseded.expires_at,
      state: 'superseded',
      revoked_at: null,
      revocation_reason: null,
      renewed_from: null,
      renewed_by: valid.cert_id,
      last_heartbeat: superseded.issued_at,
      heartbeat_status: 'joined',
      remote_addr: '127.0.0.1',
      label: null,
    })
    expect(rowsOfPage(answer)[3]).toMatchObject({
      revocation_reason: 'unspecified',
      revoked_at: writeInstant(clock.now()),
      last_heartbeat: null,
    })
  })

  it('200: finds by state, id, key, role and times', async () => {
    const { revoked, expired, superseded, valid } = await fourStates()
    for (const certificate of [{ valid }, { superseded }, { expired }, { revoked }]) {
      const [[state, { cert_id }]] = Object.entries(certificate) as [[string, JoinCertificate]]
      expect(await page(`?state=${state}`)).toMatchObject({ count: 1, total: 1 })
      expect(await ids(`?state=${state}`)).toEqual([cert_id])
    }
    expect(await ids(`?cert_id=${expired.cert_id}`)).toEqual([expired.cert_id])
    expect(await ids(`?cert_id=${expired.cert_id}&state=valid`)).toEqual([])
    expect(await ids(`?node_public_key=${encodeURIComponent(valid.node_public_key)}`)).toEqual([
      valid.cert_id,
      superseded.cert_id,
    ])
    expect(await ids('?role=role:anchor')).toEqual([expired.cert_id])
    expect(await ids('?role=role:ANCHOR')).toEqual([])
    expect(await ids('?role=role:anch')).toEqual([])
    expect(await ids(`?issued_since=${superseded.issued_at}`)).toEqual([valid.cert_id, superseded.cert_id])
    expect(await ids(`?issued_until=${expired.issued_at}`)).toEqual([revoked.cert_id])
    expect(await ids(`?expires_before=${writeInstant(clock.now())}`)).toEqual([expired.cert_id])
  })

  it('200: pages follow each other without gap or repetition, also within one moment', async () => {
    await insert(25)
    const all = idsOf(await page())
    expect(all).toHaveLength(25)
    const seen: unknown[] = []
    for (let cursor = ''; ;) {
      const answer = await page(`?limit=4${cursor}`)
      expect(answer['total']).toBe(25)
      seen.push(...idsOf(answer))
      if (answer['next_cursor'] === null) break
      cursor = `&cursor=${String(answer['next_cursor'])}`
    }
    expect(seen).toEqual(all)
  })

  it('a filter without an index reads a bounded number of certificates for one page', async () => {
    const inserted = await insert(25)
    const filter = { ...NO_FILTER, role: 'role:rare', now: writeSortable(clock.now()) }
    const { database } = na.core
    await rowsOf(database)
      .updateTable('issued_certs')
      .set({ roles_json: '["role:rare"]' })
      .where('cert_id', '=', inserted.at(-1) ?? '')
      .execute()
    const found: string[] = []
    let pages = 0
    for (let after; ;) {
      const { rows, next } = await readInventory(database, filter, { limit: 5, after }, 10)
      pages += 1
      found.push(...rows.map(({ cert_id }) => cert_id))
      if (next === undefined) break
      after = next
    }
    expect([found, pages]).toEqual([[inserted.at(-1)], 3])
    expect(await countInventory(database, filter, 100, 10)).toBeNull()
    expect(await countInventory(database, filter, 100, 26)).toBe(1)
  })

  it('400: a wrong parameter', async () => {
    for (const [query, code] of WRONG) refused(await get(`?${query}`), 400, code)
  })

  it('401: operators only', async () => {
    refused(await na.request('GET', '/admin/certificates'), 401, 'admin_auth_failed')
  })
})

describe('labels', () => {
  it('a label of an invite belongs to the key after the join and over renewals, and operators alone see it', async () => {
    const node = await newNode()
    const text = 'Büro am Markt'
    const certificate = await enroll(na, node, { label: text })
    clock.advance(1)
    const next = await renew(node, certificate.cert_id)
    await enroll(na, await newNode())
    const found = await page(`?label=${encodeURIComponent('ÜRO AM')}`)
    expect(rowsOfPage(found).map((row) => [row['cert_id'], row['label']])).toEqual([
      [next.cert_id, text],
      [certificate.cert_id, text],
    ])
    expect(found['total']).toBe(2)
    expect(accepted(await na.as('standard')('GET', '/nodes'))['nodes']).toMatchObject({
      [next.cert_id]: { label: text },
    })
    expect(JSON.stringify([certificate, next])).not.toContain('Markt')
    expect((await na.request('GET', '/nodes')).text).not.toContain('Markt')
    // A later invite with a label replaces it; one without does not.
    await enroll(na, node)
    expect(await ids('?label=markt')).toHaveLength(3)
    await enroll(na, node, { label: 'Lager' })
    expect(await ids('?label=markt')).toHaveLength(0)
    expect(await ids('?label=lager')).toHaveLength(4)
  })

  it('200: an operator sets and removes a label, with an audit event', async () => {
    const node = await newNode()
    await enroll(na, node)
    const answer = await label({ node_public_key: node.key, label: 'berlin' })
    expect(accepted(answer)).toEqual({ node_public_key: node.key, label: 'berlin' })
    const [event] = await eventsOf(na, answer)
    expect(event?.['event_type']).toBe('node_label_set')
    expect(detailsOf(event)).toMatchObject({ node_public_key: node.key, label: 'berlin', key_id: 'op-standard' })
    expect(await ids('?label=BERLIN')).toHaveLength(1)
    expect(accepted(await label({ node_public_key: node.key, label: null }))['label']).toBeNull()
    expect(await ids('?label=berlin')).toHaveLength(0)
  })

  it('400: a label that is empty, too long, no text or has control characters', async () => {
    const node = await newNode()
    await enroll(na, node)
    for (const text of ['', 'x'.repeat(65), 'a\u0007b', 5]) {
      refused(await label({ node_public_key: node.key, label: text }), 400, 'invalid_input')
      refused(await na.as('standard')('POST', '/admin/invite', { label: text }), 400, 'invalid_input')
    }
  })

  it('400 and 404: another body, and a key without a certificate', async () => {
    const { key } = await newNode()
    refused(await label({ node_public_key: key }), 400, 'invalid_input')
    refused(await label({ node_public_key: 'x', label: 'y' }), 400, 'invalid_public_key')
    refused(await label({ node_public_key: key, label: 'y', colour: 'red' }), 400, 'unexpected_field')
    refused(await label({ node_public_key: key, label: 'y' }), 404, 'node_not_found')
  })

  it('compares without regard to case', () => {
    expect(foldLabel('ÄRGER')).toBe(foldLabel('a\u0308rger'))
  })
})

const NO_FILTER: Omit<InventoryFilter, 'now'> = {
  state: undefined,
  cert_id: undefined,
  node_public_key: undefined,
  role: undefined,
  label: undefined,
  issued_since: undefined,
  issued_until: undefined,
  expires_before: undefined,
}

/** Certificates of two moments. Returns their ids, newest first. */
async function insert(count: number): Promise<readonly string[]> {
  const now = clock.now()
  const rows = Array.from({ length: count }, (_, index) => ({
    cert_id: randomUUID(),
    node_public_key: `key-${index}`,
    cert_json: '{}',
    roles_json: '["role:client"]',
    issued_at: writeSortable(now - BigInt(index % 2)),
    expires_at: '2099-01-01T00:00:00.000000Z',
    max_validity_hours: 24,
    status: 'issued',
  }))
  await rowsOf(na.core.database).insertInto('issued_certs').values(rows).execute()
  return rows
    .toSorted((x, y) =>
      x.issued_at === y.issued_at ? (x.cert_id < y.cert_id ? -1 : 1) : x.issued_at < y.issued_at ? 1 : -1,
    )
    .map(({ cert_id }) => cert_id)
}
