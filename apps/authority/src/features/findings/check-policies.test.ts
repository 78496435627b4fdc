import { type CheckedPolicy, readInstant } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import type { CedarState } from '../boundary-policies/index.ts'
import { checkPolicies } from './check-policies.ts'
import { checkAnchors } from './check-storage.ts'
import type { CheckedNetwork } from './check-lists.ts'

const NOW = readInstant('2027-03-04T05:06:07Z') ?? 0n

/** A policy with gates of these types and modes, as far as the check reads it. */
function policyWith(policy_id: string, ...gates: readonly { gate_type: string; mode: string }[]): CheckedPolicy {
  const policy = {
    policy_id,
    version: 1,
    valid_from: '2027-01-01T00:00:00Z',
    valid_until: '2029-01-01T00:00:00Z',
    gates,
  }
  return { policy_id, version: 1, policy } as unknown as CheckedPolicy
}

async function findCedar(state: CedarState, ...policies: readonly CheckedPolicy[]): Promise<readonly object[]> {
  const found = await checkPolicies(policies, NOW, () => Promise.resolve(state))
  return found.filter(({ check }) => check === 'policy-cedar')
}

const enforced = { gate_type: 'cedar.v1', mode: 'enforce' }
const observed = { gate_type: 'cedar.v1', mode: 'observe' }

describe('a policy with Cedar gates', () => {
  it('is bad without the package, and names package, policy and effect', async () => {
    const found = await findCedar('missing', policyWith('printing', observed, enforced), policyWith('other'))
    expect(found).toEqual([
      {
        check: 'policy-cedar',
        status: 'bad',
        found: 'The policy printing has Cedar gates, and the package of Cedar is not installed',
        fix: 'Install it next to the authority and restart: npm install @cedar-policy/cedar-wasm@4.13.0',
        effect: 'Every request under this policy is denied.',
        about: 'printing',
      },
    ])
  })

  it('is a warning when its gates only observe', async () => {
    expect(await findCedar('missing', policyWith('printing', observed))).toMatchObject([{ status: 'warn' }])
  })

  it('is bad when Cedar cannot be started, and good when it is ready', async () => {
    const policy = policyWith('printing', enforced)
    expect(await findCedar('failed', policy)).toMatchObject([{ status: 'bad', about: 'printing' }])
    expect(await findCedar('ready', policy, policy)).toMatchObject([{ status: 'good' }])
  })
})

it('does not load Cedar when no policy needs it', async () => {
  const probe = (): Promise<never> => Promise.reject(new Error('loaded'))
  const found = await checkPolicies([policyWith('a', { gate_type: 'max_value.v1', mode: 'enforce' })], NOW, probe)
  expect(found.filter(({ check }) => check === 'policy-cedar')).toEqual([])
})

describe('an evidence store that is off', () => {
  // Nothing else is read: the rows of a store that is off do not matter.
  const check = (policies: readonly CheckedPolicy[]) =>
    checkAnchors({ settings: { evidenceStore: false }, policies } as unknown as CheckedNetwork)

  it('is a warning when policies are in force', async () => {
    expect(await check([policyWith('printing')])).toMatchObject([
      { check: 'evidence-store', status: 'warn', fix: expect.stringContaining('EVIDENCE_STORE=on') as string },
    ])
  })

  it('is none in a network without policies', async () => {
    expect(await check([])).toMatchObject([{ check: 'evidence-store', status: 'good' }])
  })
})
