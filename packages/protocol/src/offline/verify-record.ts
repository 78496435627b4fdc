import { invalid } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { requireInstant } from '../canonical/time.ts'
import { FormError } from '../reading/form-error.ts'
import { CORE_JUDGES } from './verify-core-records.ts'
import { signerKeys } from './trust-inputs.ts'
import type { RecordVerifier, OfflineTrust } from './trust-inputs.ts'
import type { RecordKindName } from './record-kind.ts'
import { TRUST_JUDGES } from './verify-trust-records.ts'

const JUDGES: Readonly<Record<RecordKindName, RecordVerifier>> = { ...CORE_JUDGES, ...TRUST_JUDGES }

/** Kinds whose signature names the key it was made with: they can be looked at without a key from elsewhere. */
const SELF_SIGNED: ReadonlySet<RecordKindName> = new Set(['genesis-block', 'agent-descriptor', 'recognition-policy'])

/**
 * What a valid record does not prove. root_key: the block signs for its own root key, and no other was given.
 * node_key: the same for the key of a node. node_membership: only a certificate, and the list that may revoke it, say
 * that a node is a member. authorship: such a record has no signature. hidden_names: the commitment is unsalted, so the
 * names that it hides can be guessed.
 */
export type Unproven = 'root_key' | 'node_key' | 'node_membership' | 'authorship' | 'hidden_names'

export type OfflineVerdict =
  | { readonly ok: true; readonly unproven?: readonly Unproven[] }
  | { readonly ok: false; readonly reason: string; readonly problem?: string }

/**
 * Checks whether a record of this kind is valid, from the given inputs only. Later revocations are not
 * included. A record with a wrong form is `malformed`; `problem` then names the field and the rule. Throws InstantError when
 * the time given cannot be meant.
 */
export async function verifyRecordOfKind(
  kind: RecordKindName,
  value: JsonObject,
  trust: OfflineTrust,
): Promise<OfflineVerdict> {
  requireInstant(trust.now)
  if (needsSignerKeys(kind) && signerKeys(trust).length === 0) return invalid('keys_needed')
  try {
    const verdict = await JUDGES[kind](value, trust)
    const unproven = verdict.ok ? unprovenIn(kind, value, trust) : []
    return unproven.length === 0 ? verdict : { ok: true, unproven }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}

/** An agreement has separate keys for each party. */
function needsSignerKeys(kind: RecordKindName): boolean {
  return kind !== 'agreement-record' && !SELF_SIGNED.has(kind)
}

function unprovenIn(
  kind: RecordKindName,
  value: JsonObject,
  { keys, genesis, commitment }: OfflineTrust,
): readonly Unproven[] {
  if (kind === 'genesis-block') return keys.length === 0 && genesis === undefined ? ['root_key'] : []
  if (kind === 'agent-descriptor') return keys.length === 0 ? ['node_key', 'node_membership'] : ['node_membership']
  if (kind === 'capability-commitment') return value['salted'] === true ? [] : ['hidden_names']
  if (kind === 'capability-membership-proof') return commitment?.record.salted === true ? [] : ['hidden_names']
  return kind === 'recognition-policy' ? ['authorship'] : []
}
