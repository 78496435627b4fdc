import { fails } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/json-value.ts'
import { requireInstant } from '../canonical/time.ts'
import { FormError } from '../reading/form-error.ts'
import { CORE_JUDGES } from './core-judges.ts'
import { signerKeys } from './ground.ts'
import type { Judge, OfflineGround } from './ground.ts'
import type { RecordKindName } from './recognise.ts'
import { TRUST_JUDGES } from './trust-judges.ts'

const JUDGES: Readonly<Record<RecordKindName, Judge>> = { ...CORE_JUDGES, ...TRUST_JUDGES }

/** Kinds whose signature names the key it was made with: they can be looked at without a key from elsewhere. */
const SELF_SIGNED: ReadonlySet<RecordKindName> = new Set(['genesis-block', 'agent-descriptor', 'recognition-policy'])

/**
 * What a record that holds leaves open. root_key: the block vouches for its own root key, and no other was given.
 * node_key: the same for the key of a node. node_membership: only a certificate, and the list that may revoke it, say
 * that a node is a member. authorship: such a record has no signature.
 */
export type Unproven = 'root_key' | 'node_key' | 'node_membership' | 'authorship'

export type OfflineVerdict =
  | { readonly ok: true; readonly unproven?: readonly Unproven[] }
  | { readonly ok: false; readonly reason: string; readonly problem?: string }

/**
 * Whether a record of this kind holds, by what is at hand alone: nobody is asked, so what was revoked since is not
 * known. A record without its form is `malformed`; `problem` then names the place and the rule. Throws InstantError when
 * the time given cannot be meant.
 */
export async function verifyRecord(
  kind: RecordKindName,
  value: JsonObject,
  ground: OfflineGround,
): Promise<OfflineVerdict> {
  requireInstant(ground.now)
  if (needsSignerKeys(kind) && signerKeys(ground).length === 0) return fails('keys_needed')
  try {
    const verdict = await JUDGES[kind](value, ground)
    const unproven = verdict.ok ? unprovenIn(kind, ground) : []
    return unproven.length === 0 ? verdict : { ok: true, unproven }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}

/** An agreement has keys of its own for each party. */
function needsSignerKeys(kind: RecordKindName): boolean {
  return kind !== 'agreement-record' && !SELF_SIGNED.has(kind)
}

function unprovenIn(kind: RecordKindName, { keys, genesis }: OfflineGround): readonly Unproven[] {
  if (kind === 'genesis-block') return keys.length === 0 && genesis === undefined ? ['root_key'] : []
  if (kind === 'agent-descriptor') return keys.length === 0 ? ['node_key', 'node_membership'] : ['node_membership']
  return kind === 'recognition-policy' ? ['authorship'] : []
}
