import { describe, expect, it } from 'vitest'
import { readInstant } from '../canonical/time.ts'
import { EMPTY_SELECTOR } from '../artifacts/boundary-policy.ts'
import type { Attestation } from '../artifacts/attestation.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { signList } from '../signing/verify-any.ts'
import { assessAttestation, checkAttestationText } from './attestation-basis.ts'
import type { AttestationBasis, StoredAttestation } from './attestation-basis.ts'
import { gateResults } from './decide.ts'
import { type Evaluation, basisEnd, evaluateBoundary } from './evaluate.ts'
import type { ContextFacts } from './facts.ts'
import { AUTHORITY, CONTEXT, checkedPolicy, gate } from './policies.suite.ts'
import type { CheckedPolicy } from './policy-set.ts'

const NOW = readInstant(CONTEXT.requested_at) ?? 0n
const TERMS = {
  capabilities: ['ledger.read'],
  valid_from: '2027-03-01T00:00:00Z',
  valid_until: '2027-04-01T00:00:00Z',
  freshness_commitment: 0,
}

function onAgreement(
  policies: readonly CheckedPolicy[],
  context: Partial<ContextFacts> = {},
  terms: Partial<typeof TERMS> = {},
): Evaluation {
  const basis = { kind: 'agreement', terms: { ...TERMS, ...terms } } as const
  return evaluateBoundary({ basis, context: { ...CONTEXT, ...context }, policies, now: NOW })
}

describe('more gates than a decision can list', () => {
  it('are denied by a signed decision instead of an unreadable one', async () => {
    const gates = Array.from({ length: 60 }, (_, order) => gate({ gate_id: `g-${order}`, order, mode: 'observe' }))
    const full = await Promise.all(
      Array.from({ length: 17 }, (_, at) => checkedPolicy({ policy_id: `p-${at}`, gates })),
    )
    // 17 times 60, with four built-in gates the 1024 of a list.
    expect(onAgreement(full)).toMatchObject({ authorized: true, policy_binding: { resolution_status: 'resolved' } })
    const one = await checkedPolicy({ policy_id: 'q', gates: [gate({ mode: 'observe' })] })
    expect(onAgreement([...full, one])).toMatchObject({
      authorized: false,
      denial_reason: 'policy resolution failed: policy_invalid',
      policy_binding: { policies: [], gate_evaluations: [] },
    })
  })
})

const namesOf = ({ steps }: Evaluation): string[] => steps.map((step) => `${step.gate_name} ${step.passed}`)

describe('the agreement basis', () => {
  it('runs three gates and authorizes', () => {
    const evaluation = onAgreement([])
    expect(namesOf(evaluation)).toEqual(['capability_check true', 'validity_window true', 'freshness_check true'])
    expect(evaluation).toMatchObject({ authorized: true, denial_reason: null, short_circuited_at: null })
  })

  it.each([
    [{ requested_capability: 'ledger' }, {}, 'capability out of scope', 'capability_check', 1],
    [{}, { valid_from: '2027-03-04T05:06:07.000001Z' }, 'outside validity window', 'validity_window', 2],
    [{}, { valid_until: '2027-03-04T05:06:06.999999Z' }, 'outside validity window', 'validity_window', 2],
    [{ context_freshness_seq: 4 }, { freshness_commitment: 5 }, 'insufficient freshness', 'freshness_check', 3],
  ])('stops at the first gate that denies: %j %j', (context, terms, reason, name, count) => {
    const evaluation = onAgreement([], context, terms)
    expect(evaluation).toMatchObject({ authorized: false, denial_reason: reason, short_circuited_at: name })
    expect(evaluation.steps).toHaveLength(count)
  })

  it('counts both ends of the window in', () => {
    for (const terms of [{ valid_from: CONTEXT.requested_at }, { valid_until: CONTEXT.requested_at }])
      expect(onAgreement([], {}, terms).authorized).toBe(true)
  })
})

describe('policies', () => {
  it('run all their gates by order and name the first that denies with the number of others', async () => {
    const gates = [gate({ gate_id: 'late', order: 9 }), gate({ gate_id: 'early', order: 1 })]
    const evaluation = onAgreement([
      await checkedPolicy({ policy_id: 'b' }),
      await checkedPolicy({ policy_id: 'a', gates }),
    ])
    expect(namesOf(evaluation).slice(3)).toEqual(['a/early false', 'a/late false', 'b/present false'])
    expect(evaluation.denial_reason).toBe("policy gate 'a/early' failed (+2 more)")
    expect(evaluation.short_circuited_at).toBe('a/early')
  })

  it('name a single denial without a number', async () => {
    expect(onAgreement([await checkedPolicy()]).denial_reason).toBe("policy gate 'policy-1/present' failed")
  })

  it('only observe where they say so, and mark it', async () => {
    const evaluation = onAgreement([await checkedPolicy({ gates: [gate({ mode: 'observe' })] })])
    expect(evaluation).toMatchObject({ authorized: true, denial_reason: null, short_circuited_at: null })
    expect(gateResults(evaluation.steps).at(-1)).toEqual({
      gate_name: 'policy-1/present',
      passed: false,
      detail: '[observe] the fact is missing',
    })
  })

  it('show a fact value only where they say so', async () => {
    const secret = { request_parameters: { v: 'canary-7' } }
    const shown = onAgreement([await checkedPolicy({ gates: [gate({ disclose_input: true })] })], secret)
    expect(shown.steps.at(-1)?.inputs['value']).toBe('canary-7')
    const hidden = onAgreement([await checkedPolicy()], secret)
    expect(JSON.stringify(hidden)).not.toContain('canary-7')
  })

  it('run no gate and still list themselves when a built-in gate denied', async () => {
    const evaluation = onAgreement([await checkedPolicy()], { requested_capability: 'vault.open' })
    expect(evaluation.policy_binding.gate_evaluations).toEqual([])
    expect(evaluation.policy_binding.policies.map((each) => each.policy_id)).toEqual(['policy-1'])
    expect(evaluation.policy_binding.registry_gate_types).toEqual(['required_parameter.v1'])
  })

  it('that cannot be resolved deny, with one more step and an empty list', async () => {
    const expired = await checkedPolicy({ valid_until: '2027-02-01T00:00:00Z' })
    const evaluation = onAgreement([expired])
    expect(evaluation).toMatchObject({
      authorized: false,
      denial_reason: 'policy resolution failed: policy_expired',
      short_circuited_at: 'policy_resolution',
    })
    expect(evaluation.policy_binding).toMatchObject({
      policies: [],
      gate_evaluations: [],
      registry_gate_types: [],
      resolution_status: 'failed',
      resolution_failure: 'policy_expired',
    })
    const both = onAgreement([expired], { requested_capability: 'vault.open' })
    expect(both).toMatchObject({ denial_reason: 'capability out of scope', short_circuited_at: 'capability_check' })
    expect(both.steps.at(-1)).toMatchObject({
      gate_name: 'policy_resolution',
      gate_type: 'PolicyResolution',
      inputs: { active_policy_count: 1 },
      metadata: { resolution_failure: 'policy_expired' },
    })
  })

  it('whose gate throws have not passed', async () => {
    const checked = await checkedPolicy()
    if (checked.ready === undefined) throw new Error('not ready')
    const gates = checked.ready.gates.map((each) => ({
      ...each,
      run: () => {
        throw new Error('boom')
      },
    }))
    const evaluation = onAgreement([{ ...checked, ready: { ...checked.ready, gates } }], {
      request_parameters: { v: 1 },
    })
    expect(evaluation.authorized).toBe(false)
    expect(evaluation.policy_binding.gate_evaluations.map((each) => each.outcome)).toEqual(['gate_error'])
  })
})

describe('the attestation basis', () => {
  const record: Attestation = {
    attestation_id: 'att-1',
    issuer_sovereign_id: 'acme-net',
    subject_id: 'vendor-1',
    subject_public_key: null,
    roles: ['role:client'],
    status: 'active',
    issued_at: '2027-02-01T00:00:00Z',
    valid_from: '2027-02-01T00:00:00Z',
    expires_at: '2027-08-01T00:00:00Z',
    issued_by: 'na-key-1',
    claims: { capabilities: ['ledger.read'] },
    signatures: [],
  }
  const assess = async (
    members: Partial<Attestation> = {},
    stored: Partial<StoredAttestation> = {},
    requester?: string,
  ): Promise<AttestationBasis> => {
    const attestation_json = writeJson(await signList({ ...record, ...members }, AUTHORITY))
    const row = {
      attestation_json,
      issuer_sovereign_id: 'acme-net',
      status: 'active',
      isRevoked: false,
      revocationSequence: 7,
      ...stored,
    }
    const checked = await checkAttestationText(row.attestation_json, [AUTHORITY.publicKey])
    return assessAttestation({ attestation_id: 'att-1', requester }, row, checked)
  }
  const decide = (basis: AttestationBasis, context: Partial<ContextFacts> = {}): Evaluation =>
    evaluateBoundary({ basis, context: { ...CONTEXT, ...context }, policies: [], now: NOW })

  it('runs four gates and authorizes the subject, who need not be named', async () => {
    const basis = await assess()
    expect(basis).toMatchObject({ requester: 'vendor-1', isVerified: true, revocation_seq_checked: 7 })
    const evaluation = decide(basis)
    expect(namesOf(evaluation)).toEqual([
      'attestation_status true',
      'attestation_validity true',
      'capability_check true',
      'freshness_check true',
    ])
    expect(evaluation.authorized).toBe(true)
    expect(basisEnd(basis)).toBe(readInstant('2027-08-01T00:00:00Z'))
  })

  it.each([
    ['another id inside', () => assess({ attestation_id: 'att-2' }), 'attestation_invalid'],
    ['another issuer in the row', () => assess({}, { issuer_sovereign_id: 'x' }), 'attestation_invalid'],
    ['a withdrawal', () => assess({}, { isRevoked: true }, 'other'), 'attestation_revoked'],
    ['a stored status', () => assess({}, { status: 'suspended' }), 'attestation_revoked'],
    ['a signed status', () => assess({ status: 'suspended' }), 'attestation_revoked'],
    ['another requester', () => assess({}, {}, 'vendor-2'), 'attestation_subject_mismatch'],
  ] as const)('denies at the first gate for %s', async (_title, make, code) => {
    const evaluation = decide(await make())
    expect(evaluation).toMatchObject({ denial_reason: code, short_circuited_at: 'attestation_status' })
    expect(evaluation.steps[0]?.reason.startsWith(`${code}: `)).toBe(true)
  })

  it('denies an attestation that is not stored, for a requester called unknown', () => {
    const basis = assessAttestation({ attestation_id: 'x', requester: undefined }, undefined, undefined)
    expect(basis).toMatchObject({ requester: 'unknown', attestation_digest: null, revocation_seq_checked: 0 })
    expect(decide(basis).denial_reason).toBe('attestation_not_found')
    expect(basisEnd(basis)).toBeUndefined()
  })

  it.each(['not json', '[]', '{}', '{"attestation_id":"att-1"}'])(
    'denies the stored text %s without an error',
    async (attestation_json) => {
      const issuer_sovereign_id = 'acme-net'
      const stored = {
        attestation_json,
        issuer_sovereign_id,
        status: 'active',
        isRevoked: false,
        revocationSequence: 0,
      }
      const checked = await checkAttestationText(stored.attestation_json, [AUTHORITY.publicKey])
      const basis = assessAttestation({ attestation_id: 'att-1', requester: undefined }, stored, checked)
      expect(decide(basis).denial_reason).toBe('attestation_invalid')
    },
  )

  it('denies outside the window without tolerance', async () => {
    const basis = await assess()
    for (const [requested_at, code] of [
      ['2027-01-31T23:59:59.999999Z', 'attestation_not_yet_valid'],
      ['2027-08-01T00:00:00.000001Z', 'attestation_expired'],
    ] as const)
      expect(decide(basis, { requested_at })).toMatchObject({
        denial_reason: code,
        short_circuited_at: 'attestation_validity',
      })
  })

  it.each([undefined, 'ledger.read', ['ledger.read', 1]])('grants nothing on a claim of %j', async (capabilities) => {
    const evaluation = decide(await assess({ claims: capabilities === undefined ? {} : { capabilities } }))
    expect(evaluation.denial_reason).toBe('capability out of scope')
    expect(evaluation.steps.at(-1)?.inputs['capabilities']).toBeNull()
  })

  it('lets a policy read claims only once the record is known to be ours', async () => {
    const selector = { ...EMPTY_SELECTOR, parameter_equals: { 'attestation.subject_id': ['vendor-1'] } }
    const policies = [await checkedPolicy({ selector })]
    const ask = (basis: AttestationBasis): number =>
      evaluateBoundary({ basis, context: CONTEXT, policies, now: NOW }).policy_binding.policies.length
    expect(ask(await assess())).toBe(1)
    expect(ask(await assess({ attestation_id: 'att-2' }))).toBe(0)
  })
})
