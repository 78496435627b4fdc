import { invalid } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { requireInstant } from '../canonical/time.ts'
import { FormError } from '../reading/form-error.ts'
import { CORE_JUDGES } from './verify-core-records.ts'
import { type OfflineTrust, type RecordVerifier, signerKeys } from './trust-inputs.ts'
import type { OfflineVerdict, RecordsByKind, Unproven } from './offline-verdict.ts'
import type { RecordKindName } from './record-kind.ts'
import { TRUST_JUDGES } from './verify-trust-records.ts'

const JUDGES: { readonly [Kind in RecordKindName]: RecordVerifier<RecordsByKind[Kind]> } = {
  ...CORE_JUDGES,
  ...TRUST_JUDGES,
}

/** Kinds whose signature names the key it was made with: they can be looked at without a key from elsewhere. */
const SELF_SIGNED: ReadonlySet<RecordKindName> = new Set(['genesis-block', 'agent-descriptor', 'recognition-policy'])

/** What no valid record of a kind proves, whatever the caller gives. */
const OPEN: Readonly<Partial<Record<Unproven, readonly RecordKindName[]>>> = {
  node_membership: ['agent-descriptor'],
  authorship: ['recognition-policy'],
  revocation: ['join-certificate', 'membership-attestation', 'recognition-treaty'],
  newest: [
    'genesis-block',
    'crl',
    'policy-manifest',
    'sovereign-revocation-feed',
    'trust-evidence',
    'boundary-policy',
    'data-license-policy',
  ],
  basis: ['boundary-decision', 'justification-proof', 'execution-evidence', 'consensus-proof', 'data-access-intent'],
  first_use: ['capability-nullifier'],
}

const openIn = (kind: RecordKindName): readonly Unproven[] =>
  (Object.keys(OPEN) as Unproven[]).filter((part) => OPEN[part]?.includes(kind))

/**
 * Checks whether a record of this kind is valid, from the given inputs only: `unproven` names what stays open. A
 * record with a wrong form is `malformed`; `problem` then names the field and the rule. Throws InstantError when
 * the time given cannot be meant.
 */
export async function verifyRecordOfKind<Kind extends RecordKindName>(
  kind: Kind,
  value: JsonObject,
  trust: OfflineTrust,
): Promise<OfflineVerdict<Kind>> {
  requireInstant(trust.now)
  if (needsSignerKeys(kind) && signerKeys(trust).length === 0) return invalid('keys_needed')
  try {
    const held = await JUDGES[kind](value, trust)
    if (!held.ok) return held
    const { record, checked, unproven = [] } = held
    return { ok: true, kind, record, checked, unproven: [...unproven, ...openIn(kind)] }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}

/** An agreement has separate keys for each party. */
function needsSignerKeys(kind: RecordKindName): boolean {
  return kind !== 'agreement-record' && !SELF_SIGNED.has(kind)
}
