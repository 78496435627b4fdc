import { describe, expect, it } from 'vitest'
import { type Watched, findWarnings } from './view.ts'

const QUIET: Watched = {
  readiness: { status: 'ready', backend: 'SQLite' },
  signing_key: { key_id: 'na', valid_to: '2030-01-01T00:00:00Z', days_left: 30 },
  revocation_list: null,
  treaty_summary: { total: 0, active: 0, expiring_soon: 0, expired: 0, revoked: 0, replaced: 0, warning_count: 0 },
  revocation_feed_summary: { count: 0, freshness: 'none', stale_count: 0, watch_count: 0 },
  boundary_policies: { enforcement: 'optional', healthy: true, status: 'healthy', problem_count: 0, active: [] },
  recent_changes: [],
  partners: { count: 0, states: { alarm: 0, paused: 0, new: 0, fresh: 0, watch: 0, stale: 0 }, alarms: 0, rows: [] },
  outdatedTreaties: [],
  deniedForFreshness: 0,
}
const LIST = {
  sequence: 4,
  entries: 0,
  issued_at: '',
  issued_at_display: '',
  next_update: '',
  next_update_display: '',
  age_minutes: 0,
}

describe('findWarnings', () => {
  it('returns no warning when there is no problem', () => {
    expect(findWarnings({ ...QUIET, revocation_list: { ...LIST, overdue: false } })).toEqual([])
  })

  it.each([
    [29, 'in 29 days: sign a new one with chancery genesis succeed.'],
    [7, 'in 7 days: '],
    [1, 'in 1 day: '],
    [0, 'in less than a day or past: '],
  ])('with %i days of the key window left, names the command to run', (days_left, said) => {
    const found = findWarnings({ ...QUIET, signing_key: { ...QUIET.signing_key, days_left } })
    expect(found).toEqual([expect.stringContaining(said)])
  })

  it('counts one treaty in the singular', () => {
    const treaty_summary = { ...QUIET.treaty_summary, warning_count: 1 }
    expect(findWarnings({ ...QUIET, treaty_summary })).toEqual([
      '1 treaty is expired or ends within 72 hours: renew or replace it.',
    ])
  })

  it('names partners with alarms, stale ones, and treaties without a current key with the command', () => {
    const states = { ...QUIET.partners.states, alarm: 1, stale: 2 }
    const outdatedTreaties = ['t-1', 't-2', 't-3', 't-4', 't-5', 't-6']
    expect(findWarnings({ ...QUIET, partners: { ...QUIET.partners, states }, outdatedTreaties })).toEqual([
      '1 partner with an alarm: find the cause with chancery partner list --state alarm.',
      '2 partners not read for over 24 hours: see chancery partner list --state stale.',
      '6 treaties without a current key of the partner, so its members are refused: run chancery treaty renew t-1, chancery treaty renew t-2, chancery treaty renew t-3, chancery treaty renew t-4, chancery treaty renew t-5, and 1 more.',
    ])
  })

  it('names every problem, the most urgent first', () => {
    const found = findWarnings({
      ...QUIET,
      readiness: { status: 'not_ready', backend: 'SQLite' },
      signing_key: { ...QUIET.signing_key, days_left: 29 },
      revocation_list: { ...LIST, overdue: true },
      boundary_policies: { ...QUIET.boundary_policies, healthy: false, status: 'unhealthy', problem_count: 1 },
      treaty_summary: { ...QUIET.treaty_summary, warning_count: 2 },
      revocation_feed_summary: { ...QUIET.revocation_feed_summary, stale_count: 3 },
      key_succession: {
        phase: 'announced',
        key_id: 'na-2',
        announced_at: null,
        switched_at: null,
        switch_by: null,
        nodes: 1320,
        nodes_with_new_block: 1312,
        former_key_id: null,
        next_step: null,
      },
    })
    expect(found.map((text) => text.split(':')[0])).toEqual([
      'This instance is not ready',
      'The key window of the genesis block ends 2030-01-01T00',
      'The revocation list is past its next update',
      '1 problem in the active boundary policies',
      '2 treaties are expired or end within 72 hours',
      '3 revocation feeds were not imported for over 72 hours',
      'A key succession is announced',
    ])
    expect(found.at(-1)).toContain('1312 of 1320 nodes have the new block')
  })
})
