import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { readReceived, recordDigest } from '@chancery/protocol'
import { executionEvidenceForm } from '@chancery/protocol'
import type { BoundaryDecision, JsonObject } from '@chancery/protocol'
import { accepted, refused } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestStore, parseLines } from './evidence.suite.ts'

/** Two vendors, three decisions, one denied, two executions of one resource: nine entries at five times. */
let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
let decisions: readonly BoundaryDecision[]
beforeAll(async () => {
  evidenceStore = await openTestStore()
  const resource = { resource_id: 'kv/a b', resource_action: 'create' } as const
  const one = (await evidenceStore.decide()).decision
  evidenceStore.clock.advance(1)
  const first = await evidenceStore.evidence(one, { ...resource, resource_sequence: 1 })
  accepted(await evidenceStore.submit(first), 201)
  evidenceStore.clock.advance(1)
  const two = (await evidenceStore.decide({ vendor: 'vendor-2', capability: 'find.me', authorized: false })).decision
  evidenceStore.clock.advance(1)
  const three = (await evidenceStore.decide()).decision
  evidenceStore.clock.advance(1)
  const link = recordDigest(readReceived(executionEvidenceForm, first))
  const second = await evidenceStore.evidence(three, {
    ...resource,
    resource_sequence: 2,
    prev_resource_digest: link,
    outcome: 'partial',
  })
  accepted(await evidenceStore.submit(second), 201)
  decisions = [one, two, three]
})
afterAll(() => evidenceStore.stop())

const sequences = (answer: JsonObject): readonly number[] =>
  (answer['entries'] as readonly { entry: { store_sequence: number } }[]).map(({ entry }) => entry.store_sequence)
const search = async (query: string): Promise<JsonObject> =>
  accepted(await evidenceStore.get(`/admin/evidence?${query}`))

describe('GET /admin/evidence', () => {
  it.each<[string, () => string, readonly number[]]>([
    ['everything', () => '', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['vendor_id', () => 'vendor_id=vendor-2', [4, 5]],
    ['attestation_id', () => `attestation_id=${decisions[0]?.agreement_id}`, [1, 2, 3]],
    ['capability', () => 'capability=find.me', [4, 5]],
    ['resource_id', () => 'resource_id=kv%2Fa%20b', [3, 8]],
    ['outcome', () => 'outcome=denied', [4, 5]],
    ['entry_kind', () => 'entry_kind=justification', [2, 5, 7]],
    ['decision_id', () => `decision_id=${decisions[2]?.decision_id}`, [6, 7, 8]],
    ['two filters', () => 'vendor_id=vendor-1&outcome=partial', [8]],
    ['no match', () => 'vendor_id=nobody', []],
    ['a kind that is reserved', () => 'entry_kind=observation', []],
    ['since, itself included', () => 'since=2026-01-02T03:04:07.678Z', [4, 5, 6, 7, 8]],
    ['until, itself excluded', () => 'until=2026-01-02T03:04:07.678000Z', [1, 2, 3]],
    ['an offset whose plus became a blank', () => 'since=2026-01-02T04:04:08.678+01:00', [6, 7, 8]],
    ['a time before everything', () => 'until=2020-01-01T00:00:00Z', []],
    ['a time after everything', () => 'since=2030-01-01T00:00:00Z', []],
  ])('200: finds by %s', async (_name, query, expected) => {
    const answer = await search(query())
    expect(sequences(answer)).toEqual(expected)
    expect(answer).toMatchObject({ count: expected.length, next_after_sequence: null })
  })

  it('200: pages follow each other, and events are the stored lines', async () => {
    const first = await search('limit=3&vendor_id=vendor-1')
    expect([sequences(first), first['next_after_sequence']]).toEqual([[1, 2, 3], 3])
    const second = await search('limit=3&vendor_id=vendor-1&after_sequence=3')
    expect([sequences(second), second['next_after_sequence']]).toEqual([[6, 7, 8], 8])
    expect((await search('limit=3&vendor_id=vendor-1&after_sequence=8'))['count']).toBe(0)
    expect(first['entries']).toEqual(parseLines(await evidenceStore.lines()).slice(0, 3))
  })

  it.each([
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=1.5',
    'limit=',
    'after_sequence=-1',
    'after_sequence=99999999999999999999',
  ])('400: %s', async (query) => {
    refused(await evidenceStore.get(`/admin/evidence?${query}`), 400, 'invalid_page')
  })

  it.each(['since=yesterday', 'until=2020-13-01T00:00:00Z', 'since=2020-01-01'])('400: %s', async (query) => {
    refused(await evidenceStore.get(`/admin/evidence?${query}`), 400, 'invalid_timestamps')
  })
})

describe('a mistyped filter does not return everything', () => {
  it.each([
    '/admin/evidence',
    '/admin/evidence/export',
    '/admin/evidence/anchors',
    '/admin/evidence/vendors/vendor-1',
    '/admin/evidence/resources/kv/a%20b',
  ])('400: an unknown parameter of %s', async (path) => {
    const error = refused(await evidenceStore.get(`${path}?vendor=x&a=1`), 400, 'unexpected_field')
    expect(error['details']).toEqual({ fields: ['a', 'vendor'] })
  })

  it.each([
    ['vendor_id', 'vendor_id='],
    ['decision_id', 'outcome=partial&decision_id='],
    ['since', 'since='],
    ['entry_kind', 'entry_kind=nonsense'],
  ])('400: %s in %s', async (field, query) => {
    const error = refused(await evidenceStore.get(`/admin/evidence?${query}`), 400, 'invalid_input')
    expect(error['details']).toEqual({ field })
  })
})

describe('GET /admin/evidence/export', () => {
  it('200: lines in store order, after a sequence, each ended by a line feed', async () => {
    const answer = await evidenceStore.get('/admin/evidence/export?since_sequence=2&limit=3')
    expect(answer.headers['content-type']).toBe('application/x-ndjson')
    expect(answer.text.endsWith('\n')).toBe(true)
    expect(sequences({ entries: parseLines(answer.text.split('\n').slice(0, -1)) })).toEqual([3, 4, 5])
    expect((await evidenceStore.get('/admin/evidence/export?since_sequence=99')).text).toBe('')
  })

  it.each([
    ['gzip', gunzipSync],
    ['zstd', zstdDecompressSync],
  ] as const)('200: the same bytes, compressed with %s for a reader that accepts it', async (coding, decompress) => {
    const path = '/admin/evidence/export'
    const plain = await evidenceStore.get(path)
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'Accept-Encoding'])
    const headers = { 'accept-encoding': coding }
    const answer = await evidenceStore.na.as('standard')('GET', path, undefined, { headers })
    expect([answer.status, answer.headers['content-encoding'], answer.headers.vary]).toEqual([
      200,
      coding,
      'Accept-Encoding',
    ])
    expect(answer.headers['content-type']).toBe('application/x-ndjson')
    expect(Number(answer.headers['content-length'])).toBe(answer.bytes.length)
    expect(answer.bytes.length).toBeLessThan(plain.bytes.length)
    expect(Buffer.compare(decompress(answer.bytes), plain.bytes)).toBe(0)
    // No other route of operators compresses.
    const other = await evidenceStore.na.as('standard')('GET', '/admin/evidence', undefined, { headers })
    expect(other.headers['content-encoding']).toBeUndefined()
  })

  it.each(['limit=0', 'limit=1001', 'since_sequence=-1', 'since_sequence=x'])('400: %s', async (query) => {
    refused(await evidenceStore.get(`/admin/evidence/export?${query}`), 400, 'invalid_page')
  })
})

describe('GET /admin/evidence/resources/{resource_id}', () => {
  it.each(['kv%2Fa%20b', 'kv/a%20b'])('200: decisions, justifications and executions, verified (%s)', async (path) => {
    const answer = accepted(await evidenceStore.get(`/admin/evidence/resources/${path}`))
    expect(answer).toMatchObject({ resource_id: 'kv/a b', truncated: false })
    expect(sequences(answer)).toEqual([1, 2, 3, 6, 7, 8])
    expect(answer['verification']).toEqual({
      verified: true,
      checked_entries: 6,
      decisions: 2,
      executions: 2,
      rejections: 0,
      failures: [],
    })
  })

  it('404: no entry about it', async () => {
    refused(await evidenceStore.get('/admin/evidence/resources/kv'), 404, 'resource_not_found')
    refused(await evidenceStore.get('/admin/evidence/resource-heads/kv'), 404, 'resource_not_found')
  })
})

describe('GET /admin/evidence/resource-heads/{resource_id}', () => {
  it('200: the newest record and its digest', async () => {
    const last = parseLines(await evidenceStore.lines()).at(-1)?.['payload'] ?? null
    const record_digest = recordDigest(readReceived(executionEvidenceForm, last))
    const expected = { resource_id: 'kv/a b', resource_sequence: 2, record_digest }
    expect(accepted(await evidenceStore.get('/admin/evidence/resource-heads/kv/a%20b'))).toEqual(expected)
  })
})

describe('GET /admin/evidence/vendors/{vendor_id}', () => {
  it('200: everything of its decisions, verified; 404 for an unknown vendor', async () => {
    const answer = accepted(await evidenceStore.get('/admin/evidence/vendors/vendor-1'))
    expect(answer).toMatchObject({ vendor_id: 'vendor-1', truncated: false, verification: { verified: true } })
    expect(sequences(answer)).toEqual([1, 2, 3, 6, 7, 8])
    refused(await evidenceStore.get('/admin/evidence/vendors/nobody'), 404, 'vendor_not_found')
  })
})

describe('GET /admin/evidence/status', () => {
  it('200: counts and the last sequence', async () => {
    expect(accepted(await evidenceStore.get('/admin/evidence/status'))).toEqual({
      evidence_store: 'on',
      entries: 8,
      last_store_sequence: 8,
      rejections: 0,
      active_executor_keys: 1,
      retention_checkpoint: null,
      latest_anchor: null,
      unanchored_entries: 8,
    })
  })
})

it.each(['', '/export', '/resources/x', '/resource-heads/x', '/vendors/x', '/verify', '/status', '/anchors'])(
  '401: GET /admin/evidence%s is for operators only',
  async (path) => {
    refused(await evidenceStore.na.request('GET', `/admin/evidence${path}`), 401, 'admin_auth_failed')
  },
)
