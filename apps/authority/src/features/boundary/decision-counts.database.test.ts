import { type JsonObject, type JsonValue, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  newNodeCaller,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', NA_NODE_DECISIONS: 'partners' } })
  const body = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*', 'vault.open'] } },
  }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
  const bare = { ...body, subject_sovereign_id: 'OTHER-NET', scope: { allowed_roles: ['role:client'] } }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', bare), 201)
})
afterAll(() => na.stop())

const NONE = { authorized: 0, denied: 0 }
const dashboard = async (): Promise<JsonObject> => accepted(await na.request('GET', '/dashboard.json'))
const presented = (key: string | null): JsonObject => ({
  attestation: foreignAttestation(partner, clock.now(), {
    subject_public_key: key,
    claims: { capabilities: ['ledger.read'] },
  }),
  issuer_sovereign_id: partner.sovereign_id,
})
async function askAsMember(): Promise<void> {
  const node = await newNodeCaller(na.url, 'member', clock)
  const audience = na.genesis.network_authority.public_key
  const body = { action: 'boundary-request', audience, requested_capability: 'ledger.read' }
  accepted(await node.post('/boundary/request', { ...body, presented: presented(node.key) }), 201)
}
const evaluate = async (key: string, shown: JsonObject): Promise<JsonObject> =>
  accepted(
    await na.as('standard')(
      'POST',
      '/admin/boundary/evaluate',
      { requested_capability: 'ledger.read', presented: shown },
      { headers: { 'idempotency-key': key } },
    ),
    201,
  )
const warnings = async (): Promise<readonly JsonValue[]> =>
  ((await dashboard())['warnings'] as JsonValue[]).filter((each) => String(each).includes('members of partners'))

describe('decisions of the dashboard', () => {
  it('are counted by asker and result, with a warning for feeds that are too old, and without names', async () => {
    expect((await dashboard())['decisions']).toEqual({ operator: NONE, node: NONE, partner_node: NONE, relay: NONE })
    await askAsMember()
    expect(await warnings()).toEqual([expect.stringContaining('1 decision on members of partners denied')])
    const feed = foreignFeed(partner, 1, [], { issued_at: writeInstant(clock.now()) })
    accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed }))
    await askAsMember()
    const shown = presented(null)
    await evaluate('one', shown)
    const counted = {
      operator: { authorized: 1, denied: 0 },
      node: NONE,
      partner_node: { authorized: 1, denied: 1 },
      relay: NONE,
    }
    expect((await dashboard())['decisions']).toEqual(counted)
    // A repeat of a stored decision is none.
    await evaluate('one', shown)
    expect((await dashboard())['decisions']).toEqual(counted)
    await na.features.boundary.flushDecisionCounts()
    expect((await dashboard())['decisions']).toEqual(counted)
    await askAsMember()
    await na.features.boundary.flushDecisionCounts()
    expect((await dashboard())['decisions']).toMatchObject({ partner_node: { authorized: 2, denied: 1 } })
    const page = await na.request('GET', '/dashboard')
    expect(page.text).toContain('Decisions, last hour')
  })

  it('are shown for an hour and then removed', async () => {
    clock.advance(59 * 60)
    expect((await dashboard())['decisions']).toMatchObject({ partner_node: { authorized: 2, denied: 1 } })
    clock.advance(60)
    expect((await dashboard())['decisions']).toMatchObject({ partner_node: NONE })
    expect(await warnings()).toEqual([])
    await evaluate('two', presented(null))
    await na.features.boundary.flushDecisionCounts()
    const rows = await na.core.database.read.selectFrom('decision_minutes').selectAll().execute()
    expect(rows).toEqual([
      {
        minute: '2026-01-02T04:04:00.000000Z',
        asked_by: 'operator',
        authorized: 1,
        denied: 0,
        denied_for_freshness: 0,
      },
    ])
  })
})

it('each treaty has the number of capability patterns it grants', async () => {
  const rows = (await dashboard())['treaties'] as JsonObject[]
  expect(rows.map((row) => row['capability_patterns']).toSorted()).toEqual([0, 2])
})
