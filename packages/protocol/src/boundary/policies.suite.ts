import { BOUNDARY_POLICY_FORM, EMPTY_SELECTOR, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import type { BoundaryPolicy, GateSpec } from '../artifacts/boundary-policy.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { type CheckedPolicy, type StoredPolicyText, checkStoredPolicy } from './policy-set.ts'
import type { ContextFacts } from './facts.ts'

/** The authority of the worked examples. */
export const AUTHORITY: Signer = await seedSigner(
  'na-key-1',
  Buffer.from('8887872b607cddd5fac2e511d155b8a5987dcc85c6e47bd57756750642c55ed2', 'hex').toString('base64'),
)

export const CONTEXT: ContextFacts = {
  agreement_id: 'agreement-1',
  parent_kind: 'direct',
  requester_sovereign_id: 'bolt-net',
  provider_sovereign_id: 'acme-net',
  requested_capability: 'ledger.read',
  request_parameters: {},
  requested_at: '2027-03-04T05:06:07Z',
  context_freshness_seq: 0,
  attributes: {},
}

export function gate(spec: Partial<GateSpec> = {}): GateSpec {
  return {
    gate_id: 'present',
    gate_type: 'required_parameter.v1',
    order: 0,
    mode: 'enforce',
    config: { path: 'request_parameters.v' },
    disclose_input: false,
    ...spec,
  }
}

export function draft(members: Partial<BoundaryPolicy> = {}): BoundaryPolicy {
  return {
    policy_id: 'policy-1',
    version: 1,
    description: 'Gr\u00fc\u00dfe',
    valid_from: '2027-01-01T00:00:00Z',
    valid_until: '2028-01-01T00:00:00Z',
    selector: EMPTY_SELECTOR,
    gates: [gate()],
    issued_at: '2027-01-01T00:00:00Z',
    issued_by: 'na-key-1',
    issuer_sovereign_id: 'acme-net',
    signature: null,
    ...members,
  }
}

/** A signed policy as a store would hold it. */
export async function storedRow(
  members: Partial<BoundaryPolicy> = {},
  signer: Signer = AUTHORITY,
): Promise<StoredPolicyText> {
  const policy = await signForm(BOUNDARY_POLICY_FORM, draft(members), signer, 'na-key-1')
  const { policy_id, version } = policy
  return { policy_id, version, policy_json: writeJson(policy), policy_digest: boundaryPolicyDigest(policy) }
}

export async function checkedPolicy(members: Partial<BoundaryPolicy> = {}, signer?: Signer): Promise<CheckedPolicy> {
  return checkStoredPolicy(await storedRow(members, signer), [AUTHORITY.publicKey])
}
