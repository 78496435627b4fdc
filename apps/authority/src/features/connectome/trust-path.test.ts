import type { JsonObject, ExplainedPath } from '@chancery/protocol'
import { ManualClock, accepted, seedTreaties, publishFirst, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  await publishFirst(na)
  await seedTreaties(na.parts, [
    { treaty_id: 'a-b', from: 'A', to: 'B' },
    { treaty_id: 'b-c', from: 'B', to: 'C' },
    { treaty_id: 'a-zoë', from: 'A', to: 'Zoë & Co' },
    { treaty_id: 'a-d-2', from: 'A', to: 'D', revokedBecause: 'over' },
    { treaty_id: 'a-d-1', from: 'A', to: 'D', revokedBecause: 'renewed_by:x' },
    { treaty_id: 'a-e', from: 'A', to: 'E', issuedAt: clock.now() - 7_200_000_000n, validityHours: 1 },
    ...Array.from({ length: 18 }, (_, i) => ({ treaty_id: `n-${i}`, from: `n${i}`, to: `n${i + 1}` })),
  ])
})
afterAll(() => na.stop())

const find = async (query: string): Promise<ExplainedPath> =>
  accepted(await na.request('GET', `/connectome/trust-path?${query}`)) as unknown as ExplainedPath
const treaties = ({ path }: ExplainedPath): string[] => path.map(({ treaty_id }) => treaty_id)

describe('GET /connectome/trust-path', () => {
  it('returns the edges of the path as the graph has them', async () => {
    const found = await find('from=A&to=C')
    const { recognition_edges } = accepted(await na.request('GET', '/recognition-graph')) as unknown as {
      recognition_edges: { treaty_id: string }[]
    }
    expect(found).toEqual({
      from: 'A',
      to: 'C',
      trusted: true,
      reason: 'active_treaty_path',
      path: ['a-b', 'b-c'].map((id) => ({
        ...recognition_edges.find((edge) => edge.treaty_id === id),
        origin: 'own',
      })),
      hop_count: 2,
      own_hops: 2,
      reported_hops: 0,
    })
  })

  it.each<[string, Partial<ExplainedPath>, readonly string[]]>([
    ['source=A&target=B', { trusted: true, hop_count: 1 }, ['a-b']],
    // Names take precedence over their aliases, and the first value over the second.
    ['from=A&source=B&to=B&target=C', { trusted: true, hop_count: 1 }, ['a-b']],
    ['from=A&to=B&to=C', { trusted: true, hop_count: 1 }, ['a-b']],
    ['from=A&to=Zo%C3%AB+%26+Co', { trusted: true, hop_count: 1, to: 'Zoë & Co' }, ['a-zoë']],
    ['from=A&to=D', { trusted: false, hop_count: 0, reason: 'direct_treaty_revoked' }, ['a-d-1']],
    ['from=A&to=E', { trusted: false, hop_count: 0, reason: 'no_active_treaty_path' }, []],
    ['from=C&to=A', { trusted: false, hop_count: 0, reason: 'no_active_treaty_path' }, []],
    ['from=A&to=A', { trusted: false, hop_count: 0, reason: 'no_active_treaty_path' }, []],
    ['from=X&to=Y', { trusted: false, hop_count: 0, reason: 'no_active_treaty_path' }, []],
    ['from=n0&to=n16', { trusted: true, hop_count: 16 }, Array.from({ length: 16 }, (_, i) => `n-${i}`)],
    ['from=n0&to=n17', { trusted: false, hop_count: 0, reason: 'no_active_treaty_path' }, []],
  ])('%s', async (query, expected, path) => {
    const found = await find(query)
    expect(found).toMatchObject(expected)
    expect(treaties(found)).toEqual(path)
    expect(Object.keys(found).sort()).toEqual([
      'from',
      'hop_count',
      'own_hops',
      'path',
      'reason',
      'reported_hops',
      'to',
      'trusted',
    ])
  })

  it.each(['', 'from=A', 'to=B', 'from=&to=B', 'from=A&to='])(
    '%j is 400 missing_trust_path_parameters',
    async (query) => {
      refused(await na.request('GET', `/connectome/trust-path?${query}`), 400, 'missing_trust_path_parameters')
    },
  )

  it('writes nothing', async () => {
    const before = await na.core.database.read.selectFrom('heads').selectAll().orderBy('name').execute()
    const events = (await na.auditEvents('recognition_treaty_issued')).length
    await find('from=A&to=C')
    expect(await na.core.database.read.selectFrom('heads').selectAll().orderBy('name').execute()).toEqual(
      before satisfies readonly object[],
    )
    expect(await na.auditEvents('recognition_treaty_issued')).toHaveLength(events)
  })

  it('changes with the next request after a treaty ends', async () => {
    const own = new ManualClock()
    const alone = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'off' } })
    try {
      await seedTreaties(alone.parts, [{ treaty_id: 'x-y', from: 'X', to: 'Y', validityHours: 1 }])
      const ask = async (): Promise<JsonObject> =>
        accepted(await alone.request('GET', '/connectome/trust-path?from=X&to=Y'))
      expect((await ask())['trusted']).toBe(true)
      own.advance(3598.999_999)
      expect((await ask())['trusted']).toBe(true)
      own.advance(1.000_001)
      expect(await ask()).toMatchObject({ trusted: false, reason: 'no_active_treaty_path' })
    } finally {
      await alone.stop()
    }
  })
})
