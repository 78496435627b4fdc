import { createHash } from 'node:crypto'
import {
  ManualClock,
  accepted,
  canonicalText,
  foreignFeed,
  foreignSovereign,
  seedTreaties,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, SeededTreaty, TestAuthority } from '@chancery/testkit'
import { type JsonObject, type RecognitionEdge, readJson } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05Z')
const settings = { NA_CLOCK_CHECK: 'off' }
const names = ['TEST-NET', 'B', 'Zoë', '\ue000', '\u{1f600}', 'a', 'C'] as const

/** Every pair, in all lifecycle states, issued in an order that equals no sort order. */
function manyTreaties(): SeededTreaty[] {
  const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => ({ from, to })))
  return pairs.map(({ from, to }, i) => ({
    treaty_id: `t-${String((i * 17) % 97).padStart(2, '0')}`,
    from,
    to,
    issuedAt: clock.now() - BigInt((i * 7) % 5) * 3_600_000_000n,
    validityHours: [720, 24, 72, 1, 100][i % 5] ?? 720,
    ...(i % 6 === 0 ? { revokedBecause: i % 12 === 0 ? 'over' : 'renewed_by:t-01' } : {}),
  }))
}

let na: TestAuthority
const issuer = foreignSovereign('Zoë')
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
  await seedTreaties(na.parts, manyTreaties())
  const ids = ['a-1', 'b-2', '\ue000', '\u{1f600}']
  const feed = readJson(wireText(foreignFeed(issuer, 4, ids, { revocation_reasons: { 'a-1': 'left' } }))) as JsonObject
  accepted(
    await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', {
      feed,
      issuer_public_keys: [issuer.publicKey],
    }),
  )
})
afterAll(() => na.stop())

interface Row {
  readonly treaty: {
    readonly treaty_id: string
    readonly issuer_sovereign_id: string
    readonly subject_sovereign_id: string
  }
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly lifecycle: { readonly state: string; readonly expiry_risk: string }
}
const get = async (path: string): Promise<JsonObject> => accepted(await na.request('GET', path))
const rows = async (): Promise<readonly Row[]> =>
  (await get('/recognition-treaties'))['recognition_treaties'] as unknown as Row[]
const edgesOf = (view: JsonObject): readonly RecognitionEdge[] =>
  view['recognition_edges'] as unknown as RecognitionEdge[]

describe('GET /recognition-graph', () => {
  it('agrees with GET /recognition-treaties on every stored treaty, in its order', async () => {
    const [graph, stored] = [await get('/recognition-graph'), await rows()]
    expect(Object.keys(graph).sort()).toEqual([
      'active_treaties',
      'recognition_edges',
      'revoked_trust_material',
      'sovereigns',
    ])
    expect(
      edgesOf(graph).map((edge) => [
        edge.from,
        edge.to,
        edge.treaty_id,
        edge.status,
        edge.lifecycle_state,
        edge.expiry_risk,
      ]),
    ).toEqual(
      stored.map(({ treaty, status, lifecycle }) => [
        treaty.issuer_sovereign_id,
        treaty.subject_sovereign_id,
        treaty.treaty_id,
        status,
        lifecycle.state,
        lifecycle.expiry_risk,
      ]),
    )
    const inForce = stored.filter(({ lifecycle }) => ['active', 'expiring_soon'].includes(lifecycle.state))
    expect(graph['active_treaties']).toEqual(inForce.map(({ treaty }) => treaty))
    const ended = stored.filter(({ lifecycle }) => ['revoked', 'replaced'].includes(lifecycle.state))
    const material = graph['revoked_trust_material'] as JsonObject[]
    expect(material.slice(0, ended.length)).toEqual(
      ended.map((row) => ({
        type: 'recognition_treaty',
        id: row.treaty.treaty_id,
        lifecycle_state: row.lifecycle.state,
        reason: row.revocation_reason,
        revoked_at: row.revoked_at,
      })),
    )
    expect(material.slice(ended.length).map(({ id, reason, sequence }) => [id, reason, sequence])).toEqual([
      ['a-1', 'left', 4],
      ['b-2', null, 4],
      ['\ue000', null, 4],
      ['\u{1f600}', null, 4],
    ])
  })

  it('sorts sovereigns by code point', async () => {
    const { sovereigns } = (await get('/recognition-graph')) as unknown as { sovereigns: { sovereign_id: string }[] }
    expect(sovereigns.map(({ sovereign_id }) => sovereign_id)).toEqual([
      'B',
      'C',
      'TEST-NET',
      'Zoë',
      'a',
      '\ue000',
      '\u{1f600}',
    ])
  })
})

describe('GET /connectome.json', () => {
  it('counts the listed treaties and the imported feed', async () => {
    const stored = await rows()
    const state = (...states: string[]): number =>
      stored.filter(({ lifecycle }) => states.includes(lifecycle.state)).length
    expect((await get('/connectome.json'))['summary']).toEqual({
      sovereign_count: 7,
      recognition_edge_count: stored.length,
      active_edge_count: state('active', 'expiring_soon'),
      revoked_edge_count: state('revoked', 'replaced'),
      revoked_trust_material_count: state('revoked', 'replaced') + 4,
      imported_revocation_count: 4,
      reported_edge_count: 0,
      partner_count: 0,
    })
    expect(state('expired')).toBeGreaterThan(0)
  })

  it('has the edges of the graph, sorted', async () => {
    const [graph, connectome] = [await get('/recognition-graph'), await get('/connectome.json')]
    const key = (edge: RecognitionEdge): string =>
      [edge.from, edge.to, edge.treaty_id]
        .map((text) => [...text].map((point) => (point.codePointAt(0) ?? 0).toString(16).padStart(6, '0')).join(''))
        .join(' ')
    const byKey = [...edgesOf(graph)].sort((a, b) => (key(a) < key(b) ? -1 : 1))
    expect(edgesOf(connectome)).toEqual(byKey)
    expect(connectome['active_treaties']).toEqual(graph['active_treaties'])
    expect(connectome['sovereigns']).toEqual(graph['sovereigns'])
  })

  it('names the sovereigns affected by each imported revocation', async () => {
    const [graph, connectome] = [await get('/recognition-graph'), await get('/connectome.json')]
    const active = edgesOf(graph).filter(
      (edge) =>
        edge.to === 'Zoë' && edge.status === 'active' && ['active', 'expiring_soon'].includes(edge.lifecycle_state),
    )
    const accepting = names
      .filter((name) => active.some((edge) => edge.from === name))
      .sort((a, b) => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0))
    const radius = connectome['revocation_blast_radius'] as JsonObject[]
    expect(radius.map((each) => each['id'])).toEqual(['a-1', 'b-2', '\ue000', '\u{1f600}'])
    for (const each of radius) expect(each['affected_accepting_sovereigns']).toEqual(accepting)
  })
})

describe('GET /atlas.json', () => {
  it('is the graph without signed treaties, and its digest is that of the graph', async () => {
    const [graph, atlas] = [await get('/recognition-graph'), await get('/atlas.json')]
    // By the canonical JSON of another implementation.
    const text = canonicalText(JSON.parse((await na.request('GET', '/recognition-graph')).text) as ForeignObject)
    expect(atlas).toEqual({
      sovereigns: graph['sovereigns'],
      recognition_edges: graph['recognition_edges'],
      active_treaty_count: (graph['active_treaties'] as unknown[]).length,
      revoked_trust_material_count: (graph['revoked_trust_material'] as unknown[]).length,
      reported_edge_count: 0,
      graph_digest: createHash('sha256').update(text).digest('hex'),
    })
  })

  it('of an authority without treaties has the digest of the empty graph', async () => {
    const own = await startTestAuthority()
    expect(accepted(await own.request('GET', '/atlas.json'))).toEqual({
      sovereigns: [],
      recognition_edges: [],
      active_treaty_count: 0,
      revoked_trust_material_count: 0,
      reported_edge_count: 0,
      graph_digest: '63971e8c90f3b65e059883ba09745e8b4c57146e78ee4d2dbbd54a02b311c331',
    })
    await own.stop()
  })
})

describe('GET /connectome.json?view=edges', () => {
  it('has the edges of the whole document as columns, in the same order', async () => {
    const [whole, columns] = [await get('/connectome.json'), await get('/connectome.json?view=edges')]
    const of = (name: string): number[] => columns[name] as number[]
    const ids = columns['sovereigns'] as string[]
    const [states, risks] = [columns['lifecycle_states'] as string[], columns['expiry_risks'] as string[]]
    expect(ids).toEqual((whole['sovereigns'] as JsonObject[]).map((row) => row['sovereign_id']))
    const edges = whole['recognition_edges'] as JsonObject[]
    expect(edges.length).toBeGreaterThan(0)
    const rows = of('from').map((from, i) => {
      const [to, state, risk] = ['to', 'state', 'risk'].map((name) => of(name)[i] ?? -1)
      return [ids[from], ids[to ?? -1], states[state ?? -1], risks[risk ?? -1]]
    })
    expect(rows).toEqual(edges.map((edge) => [edge['from'], edge['to'], edge['lifecycle_state'], edge['expiry_risk']]))
  })
})

describe.each(['/recognition-graph', '/connectome.json', '/atlas.json'])('GET %s', (path) => {
  it('has a strong ETag, returns 304 to a caller that has it, and is stored by no cache', async () => {
    const first = await na.request('GET', path)
    const etag = String(first.headers.etag)
    expect(etag).toMatch(/^"[^"]+"$/)
    expect(first.headers['cache-control']).toBe('no-store')
    const again = await na.request('GET', path, { headers: { 'If-None-Match': etag } })
    expect([again.status, again.text]).toEqual([304, ''])
    expect((await na.request('GET', path, { headers: { 'If-None-Match': '"other"' } })).status).toBe(200)
    const head = await na.request('HEAD', path)
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', etag])
  })
})
