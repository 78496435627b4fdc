import type { PathEdge } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { draw } from './trust-path.ts'

function edge(from: string, to: string, lifecycle_state: PathEdge['lifecycle_state']): PathEdge {
  const times = { valid_from: '2030-01-01T00:00:00Z', expires_at: '2030-02-01T00:00:00Z' }
  return {
    from,
    to,
    treaty_id: `${from}-${to}`,
    status: 'active',
    lifecycle_state,
    expiry_risk: 'low',
    ...times,
    origin: 'own',
  }
}

it('prints the hops in one line', () => {
  const path = [edge('A', 'B', 'active'), edge('B', 'C', 'expiring_soon')]
  expect(draw({ from: 'A', path })).toBe('A ──treaty──▶ B ──expiring treaty──▶ C')
})

it('lets no name forge a second line', () => {
  expect(draw({ from: 'A', path: [edge('A', 'B\nC', 'active')] })).toBe('A ──treaty──▶ B\\u000aC')
})
