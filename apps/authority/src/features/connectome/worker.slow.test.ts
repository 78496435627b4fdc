import {
  buildConnectome,
  buildGraph,
  canonicalJson,
  digestOf,
  explainPath,
  readJson,
  summarize,
  writeJson,
} from '@chancery/protocol'
import { ManualClock, accepted, seedTreaties, refused, startTestAuthority } from '@chancery/testkit'
import type { SeededTreaty, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BuiltGraph } from './builder.ts'
import type { DocumentName } from './documents.ts'
import { type GraphViews, acceptedBy, buildViews, readGraphInput } from './views.ts'
import { findLostPaths } from '@chancery/protocol'

const clock = new ManualClock()
let na: TestAuthority
const seeded: SeededTreaty[] = Array.from({ length: 1001 }, (_, i) => ({
  treaty_id: `t${String(i).padStart(4, '0')}`,
  from: `S${i % 211}`,
  to: i % 50 === 0 ? 'Zoë 😀' : `S${(i * 13 + 5) % 211}`,
  validityHours: [720, 70, 20, 100][i % 4] ?? 720,
  issuedAt: clock.now() - BigInt(i % 30) * 3_600_000_000n,
  ...(i % 9 === 0 ? { revokedBecause: i % 2 === 0 ? 'over' : 'replaced_by:t0001' } : {}),
}))

beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  await seedTreaties(na.parts, seeded)
})
afterAll(() => na.stop())

/** More than 1,000 treaties: built and searched in a thread. */
const inThread = (): Promise<BuiltGraph> => na.features.connectome.current()
/** The same graph, built by the code for small graphs. */
const inline = async (): Promise<GraphViews> =>
  buildViews(await readGraphInput(na.core.database.read, clock.now(), na.core.network.name))
const documentText = async (built: BuiltGraph, name: DocumentName): Promise<string> =>
  Buffer.from((await built.document(name)).bytes).toString()

/** The documents made from the whole graph as objects, with every signed treaty. */
async function plainDocuments(
  { core }: TestAuthority,
  now: bigint,
): Promise<Record<'graph' | 'connectome' | 'atlas', string>> {
  const rows = await core.database.read
    .selectFrom('recognition_treaties')
    .select(['treaty_id', 'treaty_json'])
    .execute()
  const texts = new Map(rows.map((row) => [row.treaty_id, readJson(row.treaty_json)]))
  const input = await readGraphInput(core.database.read, now, core.network.name)
  const graph = buildGraph({ ...input, signedTreaty: (id) => texts.get(id) ?? null })
  const atlas = {
    sovereigns: graph.sovereigns,
    recognition_edges: graph.recognition_edges,
    active_treaty_count: graph.active_treaties.length,
    revoked_trust_material_count: graph.revoked_trust_material.length,
    reported_edge_count: 0,
    graph_digest: digestOf(graph),
  }
  const connectome = {
    ...buildConnectome(graph),
    summary: { ...summarize(graph), reported_edge_count: 0, partner_count: 0 },
    reported_edges: [],
    reported_edges_truncated: false,
  }
  return { graph: writeJson(graph), connectome: writeJson(connectome), atlas: writeJson(atlas) }
}

describe('a graph of more than 1,000 treaties', () => {
  it('has the same bytes as the inline path', async () => {
    const [thread, views, plain] = [await inThread(), await inline(), await plainDocuments(na, clock.now())]
    for (const name of ['graph', 'connectome', 'atlas'] as const)
      expect(await documentText(thread, name)).toBe(plain[name])
    expect(thread.summary).toEqual(views.summary)
    expect(thread.staleAt).toBe(views.staleAt)
    expect(await thread.digest()).toBe(digestOf(readJson(plain.graph)))
    expect((await na.request('GET', '/recognition-graph')).text).toBe(plain.graph)
    expect((await na.request('GET', '/connectome.json')).text).toBe(plain.connectome)
    expect((await na.request('GET', '/atlas.json')).text).toBe(plain.atlas)
  })

  it('returns the same paths, impacts and recognitions', async () => {
    const [thread, views] = [await inThread(), await inline()]
    for (let i = 0; i < 60; i += 1) {
      const [from, to] = [`S${(i * 31) % 215}`, i % 7 === 0 ? 'Zoë 😀' : `S${(i * 17) % 215}`]
      const path = await thread.trustPath({ from, to, reported: true })
      expect(path).toEqual(explainPath(views.index, undefined, from, to))
      const answer = await na.request('GET', `/connectome/trust-path?from=${from}&to=${encodeURIComponent(to)}`)
      expect(canonicalJson(accepted(answer))).toBe(canonicalJson(path))
      expect(await thread.acceptedBy(to)).toEqual(acceptedBy(views.graph.recognition_edges, to))
    }
    for (const treaty_id of ['t0001', 't0002', 't0009', 't0500', 'unknown'])
      expect(await thread.lostPaths(treaty_id)).toEqual(findLostPaths(views.graph.recognition_edges, treaty_id))
  })

  it('is the same graph below and above the size limit, and the thread follows changes and boundaries', async () => {
    const own = new ManualClock()
    const other = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'off' } })
    try {
      const current = (): Promise<BuiltGraph> => other.features.connectome.current()
      const expected = async (): Promise<string> => (await plainDocuments(other, own.now())).graph
      const seed = (from: number, to: number): Promise<void> =>
        seedTreaties(
          other.parts,
          Array.from({ length: to - from }, (_, i) => ({
            treaty_id: `t${from + i}`,
            from: `A${i % 7}`,
            to: `B${i % 5}`,
            validityHours: 100,
          })),
        )
      await seed(0, 1000)
      expect(await documentText(await current(), 'graph')).toBe(await expected())
      await seed(1000, 1001)
      const first = await current()
      expect(await documentText(first, 'graph')).toBe(await expected())
      own.advance(28 * 3600 - 1)
      expect(await current()).toBe(first)
      own.advance(1)
      const early = await current()
      expect(early).not.toBe(first)
      expect(await documentText(early, 'graph')).toBe(await expected())
      await seed(1001, 1002)
      expect((await current()).summary.recognition_edge_count).toBe(1002)
    } finally {
      await other.stop()
    }
  })

  it('serves many requests at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => na.request('GET', `/connectome/trust-path?from=S${i}&to=S${i + 3}`)),
    )
    for (const answer of answers) accepted(answer)
  })

  it('refuses while its thread fails and starts another one afterwards', async () => {
    const own = await startTestAuthority({ clock: new ManualClock(), settings: { NA_CLOCK_CHECK: 'off' } })
    try {
      await seedTreaties(own.parts, seeded)
      const { settings } = own.parts
      const real = settings.databaseLocation
      // A thread that cannot open its database ends at its start.
      Object.assign(settings, { databaseLocation: { kind: 'sqlite', path: '/nowhere/authority.db' } })
      refused(await own.request('GET', '/recognition-graph'), 503, 'service_unavailable')
      Object.assign(settings, { databaseLocation: real })
      const { recognition_edges } = accepted(await own.request('GET', '/recognition-graph'))
      expect(recognition_edges).toHaveLength(seeded.length)
    } finally {
      await own.stop()
    }
  })

  it('ends with the authority', async () => {
    const own = await startTestAuthority({ clock: new ManualClock(), settings: { NA_CLOCK_CHECK: 'off' } })
    await seedTreaties(own.parts, seeded)
    await own.features.connectome.current()
    await own.stop()
  })
})
