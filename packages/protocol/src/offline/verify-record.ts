import { fails } from '../artifacts/verdict.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import type { JsonObject } from '../canonical/json-value.ts'
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
 * Whether a record of this kind holds, by what is at hand alone: nobody is asked, so what was revoked since is not
 * known. A record without its form is `malformed`; `problem` then names the place and the rule.
 */
export async function verifyRecord(
  kind: RecordKindName,
  value: JsonObject,
  ground: OfflineGround,
): Promise<Verdict<string> & { readonly problem?: string }> {
  if (signerKeys(ground).length === 0 && !SELF_SIGNED.has(kind)) return fails('keys_needed')
  try {
    return await JUDGES[kind](value, ground)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}
