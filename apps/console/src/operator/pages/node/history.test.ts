import { expect, it } from 'vitest'
import { type HistoryCertificate, type NodeView, byDay, historyOf, toRevoke } from './history.ts'

const NOW = Date.parse('2026-03-10T12:00:00Z')
const FIRST: HistoryCertificate = {
  cert_id: 'aaaaaaaa-1111',
  issued_at: '2026-03-01T12:00:00Z',
  expires_at: '2026-03-08T12:00:00Z',
  revoked_at: null,
  revocation_reason: null,
  renewed_from: null,
}
const SECOND: HistoryCertificate = {
  ...FIRST,
  cert_id: 'bbbbbbbb-2222',
  issued_at: '2026-03-07T12:00:00Z',
  expires_at: '2026-03-14T12:00:00Z',
  renewed_from: FIRST.cert_id,
}
const NODE: NodeView = {
  node_public_key: 'key',
  label: null,
  joined_at: FIRST.issued_at,
  expires_at: SECOND.expires_at,
  revoked_at: null,
  revocation_reason: null,
  agent_id: null,
  capabilities: [],
  agent: null,
  invite: null,
  certificates: [SECOND, FIRST],
  more_certificates: false,
  state: 'active',
  roles: ['role:client'],
  cert_id: SECOND.cert_id,
  issued_at: SECOND.issued_at,
  last_heartbeat: '2026-03-10T11:59:00Z',
  heartbeat_status: 'healthy',
  remote_addr: '10.0.0.1',
}
const GONE = { ...NODE, state: 'expired', last_heartbeat: null } as const
const titles = (...given: Parameters<typeof historyOf>): readonly string[] =>
  historyOf(...given).map(({ title }) => title)

it('revokes the named certificate, the newest one without a name, and none that is not listed', () => {
  const name = 'node key'
  expect(toRevoke(NODE, null)).toEqual({ name, cert_id: SECOND.cert_id, isEarlier: false })
  expect(toRevoke(NODE, SECOND.cert_id)).toEqual({ name, cert_id: SECOND.cert_id, isEarlier: false })
  expect(toRevoke(NODE, FIRST.cert_id)).toEqual({ name, cert_id: FIRST.cert_id, isEarlier: true })
  for (const unknown of ['cccccccc-3333', '']) expect(toRevoke(NODE, unknown)).toBeUndefined()
})

it('names a node to revoke by its label or its key, never by the agent id that the node chooses', () => {
  expect(toRevoke({ ...NODE, agent_id: 'another-node' }, null)?.name).toBe('node key')
  expect(toRevoke({ ...NODE, agent_id: 'another-node', label: 'Berlin 3' }, null)?.name).toBe('Berlin 3')
})

it('shows the life of a node through its certificates, newest first', () => {
  expect(titles(NODE, [], NOW)).toEqual(['Last heartbeat: healthy', 'Certificate renewed', 'Joined'])
  expect(historyOf(NODE, [], NOW)[1]?.text).toContain('bbbbbbbb… replaces aaaaaaaa…')
})

it('states for how long a silent node sent no heartbeat, also when it never sent one', () => {
  const silent = { ...NODE, state: 'silent', last_heartbeat: '2026-03-10T11:40:00Z' } as const
  expect(historyOf(silent, [], NOW)[0]).toMatchObject({ title: 'Silent', tone: 'watch' })
  expect(historyOf(silent, [], NOW)[0]?.text).toContain('for 20 min')
  expect(historyOf({ ...silent, last_heartbeat: null }, [], NOW)[0]?.text).toContain('for 3 d')
})

it('shows a revocation with its reason and its operator', () => {
  const revoked = { ...SECOND, revoked_at: '2026-03-09T12:00:00Z', revocation_reason: 'key_compromise' }
  const details = { cert_id: SECOND.cert_id, key_id: 'op-1' }
  const audited = [{ event_type: 'certificate_revoked', created_at: '2026-03-09T12:00:00Z', details }]
  const [event, ...others] = historyOf({ ...GONE, state: 'revoked', certificates: [revoked] }, audited, NOW)
  expect(event).toMatchObject({ title: 'Revoked by op-1', at: '2026-03-09T12:00:00Z', tone: 'bad' })
  expect(event?.text).toContain('key_compromise')
  expect(others.map(({ title }) => title)).toEqual(['Certificate renewed'])
})

it('shows the end of a certificate only when it was not renewed', () => {
  expect(titles({ ...GONE, certificates: [FIRST] }, [], NOW)).toEqual(['Certificate ended', 'Joined'])
  expect(titles(GONE, [], NOW)).toEqual(['Certificate renewed', 'Joined'])
})

it('shows the invite, and audit events that no record has', () => {
  const audited = [
    { event_type: 'heartbeat_rejected', created_at: '2026-03-08T12:00:00Z', details: { reason: 'superseded' } },
    { event_type: 'certificate_issued', created_at: '2026-03-01T12:00:00Z', details: { node_public_key: 'key' } },
  ]
  const invite = { created_at: '2026-03-01T11:00:00Z', created_by: 'op-1' }
  const history = historyOf({ ...GONE, invite }, audited, NOW)
  expect(history.map(({ title }) => title)).toEqual([
    'A heartbeat was refused: superseded',
    'Certificate renewed',
    'Joined',
    'Invited by op-1',
  ])
  expect(history[0]?.tone).toBe('bad')
})

it('groups events by day in their order', () => {
  expect(byDay(historyOf(NODE, [], NOW)).map(([day, events]) => [day, events.length])).toEqual([
    ['2026-03-10', 1],
    ['2026-03-07', 1],
    ['2026-03-01', 1],
  ])
})
