import { beforeAll, describe, expect, it } from 'vitest'
import { type BoundaryDecision, boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { type PolicyBinding, policySetDigest } from '../artifacts/decision-bindings.ts'
import { type FreshnessProof, freshnessProofForm } from '../artifacts/freshness-proof.ts'
import { toBase64 } from '../canonical/base64.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { instantOf } from '../reading/text.ts'
import { asJson } from '../signing/verify-any.ts'
import { readReceived, signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import trust from '../vectors/trust.json' with { type: 'json' }
import { type DecisionExpectations, verifyBoundaryDecision } from './verify-decision.ts'

const example = (id: string): { bytes: string; signatures: readonly { key_id: string; sig: string }[] } => {
  const found = trust.examples.find((each) => each.example === id)
  if (found === undefined) throw new Error(id)
  return found
}
const [na, partner] = trust.keys.map(({ public_key }) => public_key) as [string, string]
const now = instantOf('2027-03-04T05:08:00Z')
const policy_digest = '02cb7f60e395f072f71a15401df67ee3f46bb7462ea84a549e506fe11daaa026'
const attestation = {
  attestation_id: '0b6c1c52-5a0e-4b53-9a53-0d6c0f5f0020',
  subject_id: 'vendor-1',
  issuer_sovereign_id: 'acme-net',
  attestation_digest: '3a8e08901198706cde566761affbbca5b55b70cf8b77c21baaa5158d4abdb201',
}

function worked(id: string): JsonObject {
  const { bytes, signatures } = example(id)
  const { key_id, sig } = signatures[0] ?? { key_id: '', sig: '' }
  return { ...(readJson(bytes) as JsonObject), signature: { key_id, sig } }
}

async function reason(decision: JsonObject, extra: Partial<DecisionExpectations> = {}): Promise<string> {
  const verdict = await verifyBoundaryDecision(readReceived(boundaryDecisionForm, decision), {
    keys: [na],
    now,
    ...extra,
  })
  return `${verdict.accepted ? 'accepted' : 'refused'}: ${verdict.reason}`
}

let signer: Signer
beforeAll(async () => {
  signer = await seedSigner('k', toBase64(new Uint8Array(32).fill(9)))
})

const allowed: BoundaryDecision = {
  decision_id: 'd',
  context_id: 'c',
  agreement_id: 'a',
  authorized: true,
  denial_reason: null,
  gate_results: [],
  decision_made_at: '2027-03-04T05:06:07Z',
  decision_valid_until: '2027-03-04T05:11:07Z',
  operator_sovereign_id: 'acme-net',
  freshness_proof: null,
  signature: null,
}
async function signed(change: Partial<BoundaryDecision>): Promise<JsonObject> {
  return asJson(await signForm(boundaryDecisionForm, { ...allowed, ...change }, signer))
}
const ours = (): Partial<DecisionExpectations> => ({ keys: [signer.publicKey] })

describe('a boundary decision', () => {
  it('of the worked examples says what they say', async () => {
    expect(await reason(worked('E10'))).toBe('accepted: unauthorized_capability_out_of_scope')
    expect(await reason(worked('E11'))).toBe('accepted: authorized')
  })

  it('is good to its last microsecond and no longer', async () => {
    const end = instantOf('2027-03-04T05:11:07Z')
    expect(await reason(worked('E11'), { now: end })).toBe('accepted: authorized')
    expect(await reason(worked('E11'), { now: end + 1n })).toBe('refused: decision_expired')
  })

  it('reports a missing signature before expiry, and expiry before a bad signature', async () => {
    const late = { now: now + 3_600_000_000n }
    expect(await reason({ ...worked('E11'), signature: null }, late)).toBe('refused: missing_signature')
    expect(await reason({ ...worked('E11'), decision_id: 'x' }, late)).toBe('refused: decision_expired')
    expect(await reason({ ...worked('E11'), decision_id: 'x' })).toBe('refused: invalid_signature')
    expect(await reason(worked('E11'), { keys: [partner] })).toBe('refused: invalid_signature')
  })

  it('must rest on the expected policies', async () => {
    const policies = [{ policy_id: 'vendor-apps', version: 3, policy_digest }]
    expect(await reason(worked('E11'), { policies })).toBe('accepted: authorized')
    expect(await reason(worked('E10'), { policies })).toBe('refused: policy_binding_missing')
    expect(await reason(worked('E11'), { policies: [] })).toBe('refused: policy_binding_mismatch')
    const other = [{ policy_id: 'vendor-apps', version: 4, policy_digest }]
    expect(await reason(worked('E11'), { policies: other })).toBe('refused: policy_binding_mismatch')
    // The list names the right policies and the digest others: both must agree.
    const binding: PolicyBinding = {
      policies: policies.map((each) => ({ ...each, signed_by: 'k' })),
      policy_set_digest: policySetDigest([]),
      gate_evaluations: [],
      context_digest: '',
      registry_gate_types: [],
      resolution_status: 'resolved',
      resolution_failure: null,
    }
    const torn = await signed({ policy_binding: binding })
    expect(await reason(torn, { ...ours(), policies })).toBe('refused: policy_binding_mismatch')
  })

  it('must rest on the expected attestation', async () => {
    expect(await reason(worked('E11'), { attestation })).toBe('accepted: authorized')
    expect(await reason(worked('E10'), { attestation })).toBe('refused: attestation_binding_missing')
    for (const name of Object.keys(attestation)) {
      expect(await reason(worked('E11'), { attestation: { ...attestation, [name]: 'x' } })).toBe(
        'refused: attestation_binding_mismatch',
      )
    }
  })

  it('must carry a good freshness proof where freshness keys are given', async () => {
    const proof = worked('E12') as unknown as FreshnessProof
    const withProof = await signed({ freshness_proof: proof })
    expect(await reason(withProof, { ...ours(), freshnessKeys: [partner] })).toBe('accepted: authorized')
    expect(await reason(withProof, { ...ours(), freshnessKeys: [na] })).toBe(
      'refused: freshness_proof_invalid_signature',
    )
    expect(await reason(withProof, ours())).toBe('accepted: authorized')
    const stale = await signForm(freshnessProofForm, { ...proof, proof_valid_until: '2027-03-04T05:06:06Z' }, signer)
    const old = await signed({ freshness_proof: stale })
    expect(await reason(old, { ...ours(), freshnessKeys: [signer.publicKey] })).toBe('refused: freshness_proof_expired')
    expect(await reason(await signed({}), { ...ours(), freshnessKeys: [partner] })).toBe('accepted: authorized')
  })

  it('has its nested proof checked for form too', async () => {
    const proof = { ...worked('E12'), more: 1 } as unknown as FreshnessProof
    expect(await reason(await signed({ freshness_proof: proof }), ours())).toBe('refused: unknown_field')
  })
})

describe('the meaning of a denial', () => {
  const binding: PolicyBinding = {
    policies: [],
    policy_set_digest: policySetDigest([]),
    gate_evaluations: [],
    context_digest: '',
    registry_gate_types: [],
    resolution_status: 'resolved',
    resolution_failure: null,
  }
  const failed: PolicyBinding = { ...binding, resolution_status: 'failed', resolution_failure: 'policy_expired' }
  const evaluated = (mode: string): PolicyBinding => ({
    ...binding,
    gate_evaluations: [
      {
        policy_id: 'p',
        policy_version: 1,
        gate_id: 'g',
        gate_type: 't',
        order: 0,
        mode,
        passed: false,
        outcome: 'fail',
      },
    ],
  })
  it.each<[string, string, PolicyBinding | undefined, string]>([
    ['attestation_revoked', 'attestation_status', binding, 'unauthorized_attestation_basis'],
    ['attestation_expired', 'attestation_validity', undefined, 'unauthorized_attestation_basis'],
    ['policy_expired', 'policy_resolution', failed, 'unauthorized_policy_resolution_failed'],
    ['capability out of scope', 'capability_check', failed, 'unauthorized_capability_out_of_scope'],
    ['no', 'p/g', evaluated('enforce'), 'unauthorized_policy_gate_failure'],
    ['no', 'p/g', evaluated('observe'), 'unauthorized_gate_failure'],
    ['no', 'freshness_check', evaluated('enforce'), 'unauthorized_gate_failure'],
    ['capability outside its window', 'x', undefined, 'unauthorized_capability_out_of_scope'],
    ['outside validity', 'x', undefined, 'unauthorized_outside_validity_window'],
    ['the window is shut', 'x', undefined, 'unauthorized_outside_validity_window'],
    ['insufficient freshness', 'x', undefined, 'unauthorized_insufficient_freshness'],
    ['not today', 'x', undefined, 'unauthorized_gate_failure'],
  ])('%s at %s', async (denial_reason, gate_name, policy_binding, wanted) => {
    const denied = await signed({
      authorized: false,
      denial_reason,
      gate_results: [
        { gate_name: 'fine', passed: true, detail: '' },
        { gate_name, passed: false, detail: '' },
      ],
      ...(policy_binding === undefined ? {} : { policy_binding }),
    })
    expect(await reason(denied, ours())).toBe(`accepted: ${wanted}`)
  })
})
