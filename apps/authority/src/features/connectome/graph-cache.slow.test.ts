import { type JsonObject, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  foreignFeed,
  foreignSovereign,
  seedTreaties,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BuiltGraph } from './builder.ts'

let clock: ManualClock
let na: TestAuthority
const partner = foreignSovereign('PARTNER-NET')
beforeEach(async () => {
  clock = new ManualClock()
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

/** Every build is another object. */
const built = (): Promise<BuiltGraph> => na.features.connectome.current()
const post = async (path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', path, body), status)
const issueTreaty = (hours = 168): Promise<JsonObject> =>
  post(
    '/admin/recognition-treaties',
    { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], validity_hours: hours },
    201,
  )

describe('the graph in memory', () => {
  it('is built once for many readers', async () => {
    await issueTreaty()
    const first = await built()
    for (const path of [
      '/recognition-graph',
      '/connectome.json',
      '/atlas.json',
      '/connectome/trust-path?from=a&to=b',
      '/dashboard.json',
    ])
      accepted(await na.request('GET', path))
    expect(await built()).toBe(first)
  })

  it('is built again when a treaty is issued or revoked, or a feed is imported', async () => {
    const empty = await built()
    const { treaty_id } = await issueTreaty()
    const issued = await built()
    expect(issued).not.toBe(empty)
    expect(issued.summary.active_edge_count).toBe(1)
    await post('/admin/sovereign-revocation-feeds/import', { feed: readJson(wireText(foreignFeed(partner, 1, ['a']))) })
    const imported = await built()
    expect(imported.summary.imported_revocation_count).toBe(1)
    await post(`/admin/recognition-treaties/${String(treaty_id)}/revoke`, {})
    expect((await built()).summary).toMatchObject({ active_edge_count: 0, revoked_edge_count: 1 })
    expect(await built()).toBe(await built())
  })

  it('stays when its content does not change: other records, refused calls, repeated revocations, dry runs', async () => {
    const { treaty_id } = await issueTreaty()
    const { treaty_id: gone } = await issueTreaty()
    await post(`/admin/recognition-treaties/${String(gone)}/revoke`, {})
    const first = await built()
    const { attestation_id } = await post('/admin/attestations', { subject_id: 'x', roles: ['role:client'] }, 201)
    await post(`/admin/attestations/${String(attestation_id)}/revoke`, {})
    await post('/admin/recognition-policy', { recognition_policy: { local_sovereign_id: 'TEST-NET' } })
    await post(`/admin/recognition-treaties/${String(gone)}/revoke`, { reason: 'again' })
    await post(`/admin/recognition-treaties/${String(treaty_id)}/revoke`, { dry_run: true })
    await na.as('privileged')('POST', '/admin/recognition-treaties', {})
    await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed: {} })
    clock.advance(3600)
    expect(await built()).toBe(first)
  })

  it('is built again at each boundary of a lifecycle, and at no other time', async () => {
    await issueTreaty(74)
    const seen: string[] = []
    let last: BuiltGraph | undefined
    for (let minute = 0; minute <= 75 * 60; minute += 30) {
      const now = await built()
      if (now !== last) {
        const { recognition_edges } = JSON.parse(Buffer.from((await now.document('graph')).bytes).toString()) as {
          recognition_edges: { lifecycle_state: string; expiry_risk: string }[]
        }
        seen.push(
          `${minute / 60} h ${recognition_edges.map((edge) => `${edge.lifecycle_state} ${edge.expiry_risk}`).join()}`,
        )
      }
      last = now
      clock.advance(1800)
    }
    expect(seen).toEqual([
      '0 h active low',
      '2 h expiring_soon medium',
      '50 h expiring_soon high',
      '74 h expired expired',
    ])
  })

  it('is built again when the clock is set back to before its creation', async () => {
    await issueTreaty(1)
    const start = clock.now()
    const active = async (): Promise<number> => (await built()).summary.active_edge_count
    expect(await active()).toBe(1)
    clock.set(start + 7_200_000_000n)
    expect(await active()).toBe(0)
    clock.set(start)
    expect(await active()).toBe(1)
    expect(await built()).toBe(await built())
  })

  it('has another digest and ETag after each boundary', async () => {
    await issueTreaty(73)
    const tags = new Set<string>()
    for (const seconds of [0, 3600, 48 * 3600, 24 * 3600]) {
      clock.advance(seconds)
      const answer = await na.request('GET', '/atlas.json')
      tags.add(`${String(answer.headers.etag)} ${String(accepted(answer)['graph_digest'])}`)
    }
    expect(tags.size).toBe(4)
  })

  it('includes every change made before the request: each writer sees its own treaty', async () => {
    const counts = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { treaty_id } = await issueTreaty()
        const { recognition_edges } = accepted(await na.request('GET', '/recognition-graph')) as unknown as {
          recognition_edges: { treaty_id: string }[]
        }
        return recognition_edges.some((edge) => edge.treaty_id === treaty_id)
      }),
    )
    expect(counts).toEqual(Array<boolean>(12).fill(true))
  })

  it('serves 10,000 treaties from one cached body', async () => {
    await seedTreaties(
      na.parts,
      Array.from({ length: 10_000 }, (_, i) => ({ treaty_id: `t${i}`, from: `S${i % 500}`, to: `S${(i * 7) % 501}` })),
    )
    const [graph, connectome] = [
      await na.request('GET', '/recognition-graph'),
      await na.request('GET', '/connectome.json'),
    ]
    const cached = await built()
    for (let i = 0; i < 5; i += 1) {
      expect((await na.request('GET', '/recognition-graph')).headers.etag).toBe(graph.headers.etag)
      const again = await na.request('GET', '/connectome.json', {
        headers: { 'If-None-Match': String(connectome.headers.etag) },
      })
      expect(again.status).toBe(304)
    }
    expect(await built()).toBe(cached)
    expect(graph.text).toBe(Buffer.from((await cached.document('graph')).bytes).toString())
    expect(connectome.text).toBe(Buffer.from((await cached.document('connectome')).bytes).toString())
  })
})
