import { describe, expect, it } from 'vitest'
import { readInstant } from '../canonical/time.ts'
import { EMPTY_SELECTOR } from '../artifacts/boundary-policy.ts'
import { seedSigner } from '../signing/keys.ts'
import { AUTHORITY, CONTEXT, checkedPolicy, gate, storedRow } from './policies.suite.ts'
import { type CheckedPolicy, checkStoredPolicy, findSetProblems, resolvePolicies } from './policy-set.ts'

const NOW = readInstant('2027-03-04T05:06:07Z') ?? 0n
const FACTS = { context: CONTEXT, attestation: undefined }
const keys = [AUTHORITY.publicKey]

describe('a stored policy', () => {
  it('is ready when it is what was signed', async () => {
    const checked = await checkedPolicy()
    expect(checked.problem).toBeUndefined()
    expect(checked.ready?.policy.policy_id).toBe('policy-1')
  })

  it('is found out whichever byte of its text is changed', async () => {
    const row = await storedRow()
    const survivors: number[] = []
    for (let at = 0; at < row.policy_json.length; at += 1) {
      const changed = String.fromCharCode(row.policy_json.charCodeAt(at) ^ 1)
      const policy_json = row.policy_json.slice(0, at) + changed + row.policy_json.slice(at + 1)
      const { problem, ready } = await checkStoredPolicy({ ...row, policy_json }, keys)
      if (problem === undefined || ready !== undefined) survivors.push(at)
    }
    expect(survivors).toEqual([])
  })

  it('is found out when only the case of one letter changed: another spelling of the same value', async () => {
    const row = await storedRow()
    expect(row.policy_json).toContain('\\u00fc')
    const policy_json = row.policy_json.replace('\\u00fc', '\\u00FC')
    expect((await checkStoredPolicy({ ...row, policy_json }, keys)).problem).toBe('policy_store_integrity_failed')
  })

  it.each([{ policy_id: 'other' }, { version: 2 }, { policy_digest: '0'.repeat(64) }])(
    'is found out when the row says %j',
    async (change) => {
      expect((await checkStoredPolicy({ ...(await storedRow()), ...change }, keys)).problem).toBe(
        'policy_store_integrity_failed',
      )
    },
  )

  it('is detected when its signature has another, unsigned label', async () => {
    const row = await storedRow()
    const policy_json = row.policy_json.replace('"key_id":"na-key-1"', '"key_id":"na-key-2"')
    expect((await checkStoredPolicy({ ...row, policy_json }, keys)).problem).toBe('policy_store_integrity_failed')
  })

  it('must be signed by this authority', async () => {
    const outsider = await seedSigner('na-key-1', Buffer.alloc(32, 9).toString('base64'))
    expect((await checkedPolicy({}, outsider)).problem).toBe('policy_signature_invalid')
  })

  it('must have gates this engine knows, before anything else about it counts', async () => {
    const gates = [gate({ gate_type: 'max_value.v9' }), gate({ gate_id: 'BAD' })]
    expect((await checkedPolicy({ gates })).problem).toBe('gate_type_unavailable')
  })

  it.each([
    { gates: [] },
    { gates: [gate({ gate_id: 'gate-AA' })] },
    { gates: [gate(), gate()] },
    { gates: [gate({ config: { path: 'nowhere' } })] },
    { valid_from: '2028-01-01T00:00:00Z' },
    { selector: { ...EMPTY_SELECTOR, capabilities: ['*'] } },
  ])('must pass validation although it is signed: %#', async (members) => {
    expect((await checkedPolicy(members)).problem).toBe('policy_invalid')
  })
})

describe('resolution', () => {
  const failureOf = (set: readonly CheckedPolicy[], now = NOW): string => {
    const resolution = resolvePolicies(set, FACTS, now)
    return resolution.status === 'failed' ? resolution.failure : 'resolved'
  }
  const broken = async (policy_id: string): Promise<CheckedPolicy> =>
    checkStoredPolicy({ ...(await storedRow({ policy_id })), policy_digest: '' }, keys)

  it('names the first finding: integrity, ambiguity, then policy by policy, then expiry', async () => {
    const outsider = await seedSigner('na-key-1', Buffer.alloc(32, 9).toString('base64'))
    const expired = await checkedPolicy({ policy_id: 'a-old', valid_until: '2027-02-01T00:00:00Z' })
    const unknown = await checkedPolicy({ policy_id: 'b-type', gates: [gate({ gate_type: 'no.v1' })] })
    const forged = await checkedPolicy({ policy_id: 'c-forged' }, outsider)
    const twice = [await checkedPolicy({ policy_id: 'd' }), await checkedPolicy({ policy_id: 'd', version: 2 })]
    expect(failureOf([expired])).toBe('policy_expired')
    expect(failureOf([expired, forged])).toBe('policy_signature_invalid')
    expect(failureOf([forged, expired, unknown])).toBe('gate_type_unavailable')
    expect(failureOf([forged, ...twice])).toBe('ambiguous_resolution')
    const all = [forged, ...twice, expired, unknown, await broken('z')]
    expect(failureOf(all)).toBe('policy_store_integrity_failed')
    expect(findSetProblems(all, NOW)).toEqual([
      { policy: 'z@1', reason: 'policy_store_integrity_failed' },
      { policy: 'd@1', reason: 'ambiguous_resolution' },
      { policy: 'd@2', reason: 'ambiguous_resolution' },
      { policy: 'b-type@1', reason: 'gate_type_unavailable' },
      { policy: 'c-forged@1', reason: 'policy_signature_invalid' },
      { policy: 'a-old@1', reason: 'policy_expired' },
    ])
  })

  it('fails from the microsecond after the end, also for a policy that does not match', async () => {
    const selector = { ...EMPTY_SELECTOR, capabilities: ['never'] }
    const set = [await checkedPolicy({ selector, valid_until: '2027-03-04T05:06:07Z' })]
    expect(failureOf(set)).toBe('resolved')
    expect(failureOf(set, NOW + 1n)).toBe('policy_expired')
  })

  it('leaves out what has not begun and what does not match, and orders by code point', async () => {
    const ids = ['b', 'Z', 'a:1', 'a.1']
    const set = [
      ...(await Promise.all(ids.map((policy_id) => checkedPolicy({ policy_id })))),
      await checkedPolicy({ policy_id: 'later', valid_from: '2027-03-04T05:06:07.000001Z' }),
      await checkedPolicy({ policy_id: 'other', selector: { ...EMPTY_SELECTOR, parent_kinds: ['attestation'] } }),
    ]
    const resolution = resolvePolicies(set, FACTS, NOW)
    expect(resolution.status === 'resolved' && resolution.applied.map(({ policy }) => policy.policy_id)).toEqual([
      'Z',
      'a.1',
      'a:1',
      'b',
    ])
  })
})
