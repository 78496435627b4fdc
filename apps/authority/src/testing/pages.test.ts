import { type JsonObject, readJson, writeSortable } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  foreignFeed,
  foreignSovereign,
  seedTreaties,
  readPage,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { recordActivity } from '../features/dashboard/activity.ts'
import { rowsOf } from './rows.suite.ts'

const PAGES = [
  '/',
  '/dashboard',
  '/connectome',
  '/atlas',
  '/api-reference',
  '/cli-reference',
  '/operator',
  '/operator/nodes',
]
const EVIL = `<img src=x onerror="alert(1)">'"&\u202e`
let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock('2026-01-02T03:04:05.500Z')
  na = await startTestAuthority({ clock, network: 'HOME', settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const text = async (path: string): Promise<string> => {
  const answer = await na.request('GET', path)
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  return answer.text
}
const json = async (path: string): Promise<JsonObject> => accepted(await na.request('GET', path))
const seed = (): Promise<void> =>
  seedTreaties(na.parts, [
    { treaty_id: 't-1', from: 'HOME', to: 'BOREALIS', validityHours: 500 },
    { treaty_id: 't-2', from: 'BOREALIS', to: 'CIRRUS', validityHours: 50 },
    { treaty_id: 't-3', from: 'HOME', to: 'GLACIER', validityHours: 500, revokedBecause: 'over' },
  ])

describe('every page', () => {
  it.each(PAGES)(
    '%s has no inline script or style, no handler and no posting form, also with malicious names',
    async (path) => {
      await seedTreaties(na.parts, [{ treaty_id: EVIL, from: EVIL, to: `${EVIL}2`, revokedBecause: EVIL }])
      const page = await text(`${path}?q=${encodeURIComponent(EVIL)}&from=${encodeURIComponent(EVIL)}&to=x`)
      expect(page).toMatch(/^<!doctype html>/)
      expect(page).not.toMatch(
        /<script(?![^>]*\bsrc="\/operator-console-static\/(?:console|operator\/operator-[\w-]+)\.js")/,
      )
      // A quoted value is a value, whatever it contains.
      const tags = page.replaceAll(/="[^"]*"/g, '=""')
      expect(tags).not.toMatch(/<style\b|<[^>]*\s(?:style|on[a-z]+)=/i)
      expect(page).not.toMatch(/<form[^>]+method="?post|(?:href|src|action)="\s*javascript:/i)
      expect(page).not.toContain('<img src=x')
      expect(page).not.toContain('\u202e')
      // No other origin is used: every address is a path of this origin or an anchor in the page.
      for (const [, address = ''] of page.matchAll(/(?:src|href|action)="([^"]*)"/g))
        expect(address.startsWith('/') || address.startsWith('#') || address.startsWith(na.url), address).toBe(true)
    },
  )

  it('/ is /dashboard', async () => {
    // The job that counts the minute may write between the two.
    await vi.waitFor(async () => expect(await text('/')).toBe(await text('/dashboard')), { timeout: 10_000 })
  })

  it('marks the current page in the menu', async () => {
    expect(await text('/atlas')).toContain('<a href="/atlas" aria-current="page">')
  })
})

describe('GET /', () => {
  it('shows the figures of /dashboard.json', async () => {
    await seed()
    const issuer = foreignSovereign('BOREALIS')
    const feed = readJson(wireText(foreignFeed(issuer, 7, ['att-x'])))
    accepted(
      await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', {
        feed,
        issuer_public_keys: [issuer.publicKey],
      }),
    )
    // Otherwise the job may sign the first list between the two readings.
    accepted(await na.request('GET', '/crl'))
    const page = readPage(await text('/'))
    const model = await json('/dashboard.json')
    const summary = model['treaty_summary'] as Record<string, number>
    expect(page.tile('Treaties in force')).toContain(String((summary['active'] ?? 0) + (summary['expiring_soon'] ?? 0)))
    expect(page.tile('Active nodes')).toContain(String((model['nodes'] as JsonObject)['active']))
    const treaties = model['treaties'] as JsonObject[]
    expect(page.rows('Treaties by urgency')).toEqual(
      treaties.map((row) => [
        String(row['lifecycle_state']).replace('_', ' '),
        row['issuer_sovereign_id'],
        row['subject_sovereign_id'],
        row['expires_at_display'],
        String(row['capability_patterns']),
        row['treaty_id'],
      ]),
    )
    const feeds = model['revocation_feeds'] as JsonObject[]
    expect(page.rows('Revocation feeds of others')).toEqual(
      feeds.map((row) => [
        row['freshness'],
        row['issuer_sovereign_id'],
        String(row['sequence']),
        String(row['revoked_count']),
        row['imported_at_display'],
        row['complete'] === true ? 'yes' : 'no, parts are missing',
      ]),
    )
    for (const warning of model['warnings'] as string[]) expect(page.text).toContain(warning)
    for (const change of model['recent_changes'] as { summary: { title: string } }[])
      expect(page.text).toContain(change.summary.title)
  })

  it('begins with the overall state', async () => {
    expect(await text('/')).toContain('<h1>No problems.</h1>')
    await seed()
    expect(await text('/')).toContain('<h1>1 treaty is expired or ends within 72 hours.</h1>')
    na.authority.turnNotReady()
    expect(await text('/')).toContain('<h1>Not ready: this instance must not receive traffic.</h1>')
  })

  it('draws the day and leaves minutes without a count empty', async () => {
    expect(await text('/')).toMatch(/No history yet|<polyline/)
    const at = (
      minutesAgo: number,
      active: number,
    ): { minute: string; active: number; tracked: number; expiring: number } => ({
      minute: writeSortable(clock.now() - (clock.now() % 60_000_000n) - BigInt(minutesAgo) * 60_000_000n),
      active,
      tracked: 9,
      expiring: 1,
    })
    await rowsOf(na.core.database).deleteFrom('activity_minutes').execute()
    await rowsOf(na.core.database)
      .insertInto('activity_minutes')
      .values([...Array.from({ length: 20 }, (_, i) => at(1400 - i, 8)), at(5, 2), at(0, 3)])
      .execute()
    const page = await text('/')
    expect(page.match(/<polyline/g)).toHaveLength(2)
    expect(page).toContain('now 3, lowest 2, highest 8')
  })
})

describe('the history of a day', () => {
  it('has one point a minute, counts the active nodes, and is never longer than a day', async () => {
    await rowsOf(na.core.database).deleteFrom('activity_minutes').execute()
    for (const seconds of [0, 10, 60, 120]) {
      clock.advance(seconds)
      await recordActivity(na.parts)
    }
    const activity = async (): Promise<JsonObject> => (await json('/dashboard.json'))['activity'] as JsonObject
    expect(await activity()).toEqual({
      since: '2026-01-02T03:04:00Z',
      step_seconds: 60,
      active: [0, 0, null, 0],
      tracked: [0, 0, null, 0],
    })
    clock.advance(24 * 3600 - 60)
    await recordActivity(na.parts)
    expect(await activity()).toMatchObject({ since: '2026-01-02T03:07:00Z' })
    expect((await activity())['active']).toHaveLength(1440)
    const rows = await na.core.database.read.selectFrom('activity_minutes').selectAll().execute()
    expect(rows).toHaveLength(2)
  })
})

describe('GET /connectome', () => {
  it('shows the edges of /connectome.json in their order', async () => {
    await seed()
    const edges = (await json('/connectome.json'))['recognition_edges'] as JsonObject[]
    const rows = readPage(await text('/connectome')).rows('Treaties')
    expect(rows.map((row) => [row[1], row[2], row[5]])).toEqual(
      edges.map((edge) => [edge['from'], edge['to'], edge['treaty_id']]),
    )
    expect(rows.map((row) => row[0]?.replace(' ', '_'))).toEqual(edges.map((edge) => edge['lifecycle_state']))
  })

  it('filters by sovereign, ignoring case', async () => {
    await seed()
    const rows = readPage(await text('/connectome?q=cirr')).rows('Treaties')
    expect(rows.map((row) => row[5])).toEqual(['t-2'])
  })

  it('shows a trust path without script, as the route does', async () => {
    await seed()
    const page = await text('/connectome?from=HOME&to=CIRRUS')
    expect(page).toContain('Treaties in force lead there.')
    expect(readPage(page).text).toMatch(/HOME → recognises BOREALIS t-1.*BOREALIS → recognises CIRRUS t-2/s)
    expect(await text('/connectome?from=HOME&to=GLACIER')).toContain('There was a treaty; it ended.')
    expect(await text('/connectome?from=CIRRUS&to=HOME')).toContain('No treaty in force leads there.')
  })
})

describe('GET /atlas', () => {
  it('shows sovereigns and digest of /atlas.json, and how they are connected', async () => {
    await seed()
    const model = await json('/atlas.json')
    const page = await text('/atlas')
    expect(page).toContain(String(model['graph_digest']))
    expect(readPage(page).rows('Sovereigns')).toEqual([
      ['BOREALIS', '1', '1'],
      ['CIRRUS', '0', '1'],
      ['GLACIER', '0', '0'],
      ['HOME', '1', '0'],
    ])
    expect((model['sovereigns'] as JsonObject[]).map((row) => row['sovereign_id'])).toEqual([
      'BOREALIS',
      'CIRRUS',
      'GLACIER',
      'HOME',
    ])
    expect(readPage(page).rows('Treaties')).toHaveLength(3)
    expect(page).toMatch(/<div hidden><figure class="map"/)
    expect(page.match(/<g class="edge /g)).toHaveLength(3)
  })
})

describe('reference pages', () => {
  it('list every route of /swagger.json and every command of /surfaces', async () => {
    const api = await text('/api-reference')
    const paths = (await json('/swagger.json'))['paths'] as Record<string, JsonObject>
    for (const [path, item] of Object.entries(paths))
      for (const method of Object.keys(item)) expect(api).toContain(`data-route="${method.toUpperCase()} ${path}"`)
    const cli = readPage(await text('/cli-reference')).text
    const groups = (await json('/surfaces'))['groups'] as { surfaces: { method: string; target: string }[] }[]
    const commands = groups.flatMap((group) => group.surfaces).filter((surface) => surface.method === 'CLI')
    expect(commands.length).toBeGreaterThan(10)
    for (const { target } of commands) expect(cli).toContain(target)
  })
})

describe('static files', () => {
  it.each(['other.js', '..%2fpackage.json', 'styles.css.map', '', '%2e%2e/%2e%2e/package.json', 'console.js/'])(
    'refuses /operator-console-static/%s',
    async (name) => {
      const answer = await na.request('GET', `/operator-console-static/${name}`)
      expect([answer.status, (answer.json as { error: { code: string } }).error.code]).toEqual([404, 'asset_not_found'])
    },
  )
})
