import { describe, expect, it } from 'vitest'
import { findWarnings } from './warnings.ts'
import type { Watched } from './warnings.ts'

const QUIET: Watched = {
  readiness: { status: 'ready', backend: 'SQLite' },
  revocation_list: null,
  treaty_summary: { total: 0, active: 0, expiring_soon: 0, expired: 0, revoked: 0, replaced: 0, warning_count: 0 },
  revocation_feed_summary: { count: 0, freshness: 'none', stale_count: 0, watch_count: 0 },
  boundary_policies: { enforcement: 'optional', healthy: true, status: 'healthy', problem_count: 0, active: [] },
  recent_changes: [],
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
  it('says nothing when nothing is wrong', () => {
    expect(findWarnings({ ...QUIET, revocation_list: { ...LIST, overdue: false } })).toEqual([])
  })

  it('names everything that needs somebody, the most urgent first', () => {
    const found = findWarnings({
      ...QUIET,
      readiness: { status: 'not_ready', backend: 'SQLite' },
      revocation_list: { ...LIST, overdue: true },
      boundary_policies: { ...QUIET.boundary_policies, healthy: false, status: 'unhealthy', problem_count: 1 },
      treaty_summary: { ...QUIET.treaty_summary, warning_count: 2 },
      revocation_feed_summary: { ...QUIET.revocation_feed_summary, stale_count: 3 },
    })
    expect(found.map((text) => text.split(':')[0])).toEqual([
      'This instance is not ready',
      'The revocation list is past its next update',
      '1 problem in the active boundary policies',
      '2 treaties are expired or end within 72 hours',
      '3 revocation feeds were not imported for over 72 hours',
    ])
  })
})
