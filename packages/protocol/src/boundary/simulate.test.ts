import { describe, expect, it } from 'vitest'
import { readInstant } from '../canonical/time.ts'
import { CONTEXT, checkedPolicy, draft, gate } from './policies.suite.ts'
import { candidateSet, simulateCase } from './simulate.ts'

const NOW = readInstant(CONTEXT.requested_at) ?? 0n
const facts = (v: number) => ({ context: { ...CONTEXT, request_parameters: { v } }, attestation: undefined })
const limit = (max: number) => [gate({ gate_type: 'max_value.v1', config: { path: 'request_parameters.v', max } })]

describe('a simulation', () => {
  it('puts the candidate in the place of the active version and leaves other policies', async () => {
    const active = [await checkedPolicy({ policy_id: 'a', version: 3 }), await checkedPolicy({ policy_id: 'b' })]
    const candidate = candidateSet(active, draft({ policy_id: 'a', version: 7 }))
    expect(candidate.map(({ policy_id, version }) => `${policy_id}@${version}`)).toEqual(['b@1', 'a@7'])
  })

  it.each([
    [5, 'unchanged'],
    [15, 'newly_denied'],
    [25, 'unchanged'],
  ])('of a lower limit reports the change of %j: %s', async (v, change) => {
    const active = [await checkedPolicy({ gates: limit(20) })]
    const sets = { active, candidate: candidateSet(active, draft({ version: 2, gates: limit(10) })) }
    expect(simulateCase(sets, facts(v), NOW).change).toBe(change)
    // The other way round what was newly denied is newly allowed.
    const back = simulateCase({ active: sets.candidate, candidate: sets.active }, facts(v), NOW)
    expect(back.change).toBe(change === 'newly_denied' ? 'newly_allowed' : change)
  })

  it('shows that a broken set denies, and that replacing the broken policy heals it', async () => {
    const active = [await checkedPolicy({ gates: limit(20), valid_until: '2027-02-01T00:00:00Z' })]
    const candidate = candidateSet(active, draft({ version: 2, gates: limit(20) }))
    expect(simulateCase({ active, candidate }, facts(1), NOW)).toEqual({
      change: 'newly_allowed',
      active: { authorized: false, denial_reason: 'policy resolution failed: policy_expired' },
      candidate: { authorized: true, denial_reason: null },
    })
  })
})
