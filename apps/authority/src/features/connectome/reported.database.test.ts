import { type ExplainedPath, type JsonObject, digestOf, hours, writeInstant, writeSortable } from '@chancery/protocol'
import { ManualClock, accepted, publishFirst, refused, seedTreaties, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
let own: string
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  own = na.core.network.name
  await publishFirst(na)
  await seedTreaties(na.parts, [
    { treaty_id: 'own-beta', from: own, to: 'BETA', validityHours: 1000 },
    { treaty_id: 'own-ended', from: own, to: 'ENDED', revokedBecause: 'over' },
  ])
  await report('BETA', ['GAMMA', 'ENDED'])
  await report('STRANGER', ['DELTA'])
})
afterAll(() => na.stop())

/** A partner whose last pull was good and that lists these treaties. */
async function report(partner: string, subjects: readonly string[]): Promise<void> {
  const [now, valid_from] = [writeSortable(clock.now()), writeInstant(clock.now() - hours(1))]
  const ends = clock.now() + hours(1000)
  await na.core.database.write(async (tx) => {
    await tx.query
      .insertInto('partners')
      .values({
        sovereign_id: partner,
        url: 'https://partner.example',
        pin_json: '{}',
        import_feeds: 0,
        interval_seconds: 300,
        max_feed_age_seconds: null,
        allow_http: 0,
        paused: 0,
        label: null,
        added_at: now,
        added_by: 'op',
        open_alarms: 0,
        last_pull_at: now,
        last_outcome: 'ok',
        last_duration_ms: 1,
        last_good_pull_at: now,
        next_pull_at: now,
        failures: 0,
        pull_token: null,
        pull_until: null,
        asked_at: null,
        treaties_as_of: now,
        stored_json: '{}',
      })
      .execute()
    await tx.query
      .insertInto('reported_treaties')
      .values(
        subjects.map((subject) => ({
          sovereign_id: partner,
          treaty_id: `${partner}-${subject}`,
          subject_sovereign_id: subject,
          treaty_json: '{}',
          digest: 'd',
          valid_from,
          expires_at: writeInstant(ends),
          starts_at: writeSortable(clock.now() - hours(1)),
          ends_at: writeSortable(ends),
          hidden: 0,
        })),
      )
      .execute()
    await tx.raiseVersion('partners')
  })
}

const get = async (path: string): Promise<JsonObject> => accepted(await na.request('GET', path))
const find = async (to: string, more = ''): Promise<ExplainedPath> =>
  (await get(`/connectome/trust-path?from=${own}&to=${to}${more}`)) as unknown as ExplainedPath

describe('treaties that partners report', () => {
  it('complete a path that is not trusted', async () => {
    const found = await find('GAMMA')
    expect(found).toMatchObject({
      trusted: false,
      reason: 'reported_treaty_path',
      hop_count: 2,
      own_hops: 1,
      reported_hops: 1,
    })
    expect(found.path.map((edge) => [edge.from, edge.to, edge.origin])).toEqual([
      [own, 'BETA', 'own'],
      ['BETA', 'GAMMA', 'reported'],
    ])
    expect(found.path[1]).toMatchObject({ reported_by: 'BETA', as_of: writeInstant(clock.now()) })
    expect(found.path[1]).not.toHaveProperty('freshness')
    expect((await find('GAMMA', '&reported=exclude')).reason).toBe('no_active_treaty_path')
    expect(await find('BETA')).toMatchObject({ trusted: true, own_hops: 1, reported_hops: 0 })
    // An own treaty that ended comes before reported paths; a partner without an own treaty reports nothing here.
    expect((await find('ENDED')).reason).toBe('direct_treaty_revoked')
    expect((await get('/connectome/trust-path?from=STRANGER&to=DELTA'))['reason']).toBe('no_active_treaty_path')
    refused(await na.request('GET', '/connectome/trust-path?from=A&to=B&reported=x'), 400, 'invalid_input')
  })

  it('are in the graph on request only, and not in its digest', async () => {
    const [graph, wide] = [await get('/recognition-graph'), await get('/recognition-graph?reported=include')]
    expect(Object.keys(graph)).toHaveLength(4)
    const { reported_edges, reported_sovereigns, ...rest } = wide
    expect(rest).toEqual(graph)
    expect((reported_edges as JsonObject[])[1]).toEqual({
      from: 'BETA',
      to: 'GAMMA',
      treaty_id: 'BETA-GAMMA',
      status: 'active',
      lifecycle_state: 'active',
      expiry_risk: 'low',
      valid_from: writeInstant(clock.now() - hours(1)),
      expires_at: writeInstant(clock.now() + hours(1000)),
      origin: 'reported',
      reported_by: 'BETA',
      as_of: writeInstant(clock.now()),
      freshness: 'fresh',
    })
    expect((reported_sovereigns as JsonObject[]).map((row) => row['sovereign_id'])).toEqual(['BETA', 'ENDED', 'GAMMA'])
    expect(await get('/atlas.json')).toMatchObject({ reported_edge_count: 2, graph_digest: digestOf(graph) })
  })

  it('are in the connectome with counts, as columns, and in the blast radius', async () => {
    await rowsOf(na.core.database)
      .insertInto('imported_sovereign_revocations')
      .values({
        issuer_sovereign_id: 'GAMMA',
        attestation_id: 'a-1',
        feed_id: 'f',
        sequence: 1,
        reason: null,
        imported_at: writeSortable(clock.now()),
      })
      .execute()
    await na.core.database.write((tx) => tx.raiseVersion('imports'))
    const connectome = await get('/connectome.json')
    expect(connectome['summary']).toMatchObject({ reported_edge_count: 2, partner_count: 2 })
    expect(connectome).toMatchObject({ reported_edges_truncated: false, reported_edges: [{}, { to: 'GAMMA' }] })
    expect(connectome['revocation_blast_radius']).toMatchObject([
      { id: 'a-1', affected_accepting_sovereigns: ['BETA'], reported_accepting_sovereigns: ['BETA'] },
    ])
    const columns = await get('/connectome.json?view=edges&reported=include')
    expect(columns).toMatchObject({ origin: [0, 0, 1, 1] })
    expect(columns['from']).toHaveLength(4)
    expect(await get('/connectome.json?view=edges')).not.toHaveProperty('origin')
  })

  it('become old, and then are no longer shown', async () => {
    const freshness = async (): Promise<unknown> =>
      ((await get('/recognition-graph?reported=include'))['reported_edges'] as JsonObject[])[0]?.['freshness']
    clock.advance(900)
    expect(await freshness()).toBe('fresh')
    clock.advance(1)
    expect(await freshness()).toBe('watch')
    clock.advance(86_400 - 901)
    expect(await freshness()).toBe('watch')
    clock.advance(1)
    expect(await freshness()).toBeUndefined()
  })
})
