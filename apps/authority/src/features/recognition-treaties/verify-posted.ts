import { Refusal } from '@chancery/contract'
import { canonicalJson, invalid, isActiveState, readJson, treatyLifecycle, verifyTreaty } from '@chancery/protocol'
import type { JsonValue, RecognitionTreaty, TreatyReason, Verdict } from '@chancery/protocol'
import type { RecognitionTreatiesParts } from './sign-treaty.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { findTreaty, listTreatiesFor } from './queries.ts'

/** `none`: no key of the issuer counts for this purpose. */
export type TrustBasis = 'this_authority' | 'caller_supplied_keys' | 'recognized_issuer_keys' | 'none'

export interface TreatyResult {
  readonly verdict: Verdict<TreatyReason | 'not_held' | 'issuer_not_recognized'>
  readonly trust_basis: TrustBasis
}

/**
 * The purpose of a verification. `genuine`: did its issuer sign it? Keys of a recognised issuer decide that, and it
 * states nothing about its subject. `admission`: may members of its subject be admitted? Without keys from the caller
 * only own treaties allow that. Otherwise a partner could pass on a recognition that was given to it alone.
 */
export type TreatyQuestion = 'genuine' | 'admission'

/** Whether an acceptance counts for this authority, or only for the caller who chose the keys. */
export function countsHere(accepted: boolean, basis: TrustBasis): boolean {
  return accepted && basis === 'this_authority'
}

/** Subject keys of own treaties for this sovereign that are in force now, each with our valid signature. */
export async function pinnedKeys(parts: RecognitionTreatiesParts, subject: string): Promise<readonly string[]> {
  const rows = await listTreatiesFor(parts.database, parts.network.name, subject)
  const keys = new Set<string>()
  for (const row of rows) {
    if (!isActiveState(treatyLifecycle(row, parts.clock.now()).state)) continue
    for (const key of (await parts.verifiedTreaties.read(row))?.subject_public_keys ?? []) keys.add(key)
  }
  return [...keys]
}

/** protocol/core 17.2 from check 3 on: selects the keys of the issuer, then verifies the treaty with them. */
export async function verifyPostedTreaty(
  parts: RecognitionTreatiesParts,
  treaty: RecognitionTreaty,
  posted: JsonValue,
  supplied: readonly string[],
  question: TreatyQuestion,
  expected: { readonly issuer: string | undefined; readonly subject: string | undefined },
): Promise<TreatyResult> {
  const stored = await findTreaty(parts.database, treaty.treaty_id)
  const isOwn = treaty.issuer_sovereign_id === parts.network.name
  const { keys, basis } = isOwn
    ? chooseOwnKeys(parts, treaty, supplied)
    : await chooseForeignKeys(parts, treaty, supplied, question)
  // An own treaty counts only as stored, signatures included: a second signature would make it another record.
  if (isOwn && (stored === undefined || canonicalJson(readJson(stored.treaty_json)) !== canonicalJson(posted)))
    return { verdict: invalid('not_held'), trust_basis: basis }
  if (keys.length === 0) return { verdict: invalid('issuer_not_recognized'), trust_basis: basis }
  const isRevoked =
    stored?.issuer_sovereign_id === treaty.issuer_sovereign_id &&
    (stored.status === 'revoked' || Boolean(stored.revoked_in_audit))
  const against = {
    keys,
    expectedIssuer: expected.issuer,
    expectedSubject: expected.subject,
    isRevoked,
    now: parts.clock.now(),
  }
  return { verdict: await verifyTreaty(treaty, against), trust_basis: basis }
}

interface ChosenKeys {
  readonly keys: readonly string[]
  readonly basis: TrustBasis
}

function chooseOwnKeys(
  parts: RecognitionTreatiesParts,
  treaty: RecognitionTreaty,
  supplied: readonly string[],
): ChosenKeys {
  if (supplied.some((key) => !parts.keys.all.includes(key))) throw new Refusal('caller_keys_not_accepted')
  return { keys: ownKeysAt(parts.keys, treaty.issued_at), basis: 'this_authority' }
}

/** protocol/core 17.2 and 17.3: the two routes differ only here. */
async function chooseForeignKeys(
  parts: RecognitionTreatiesParts,
  treaty: RecognitionTreaty,
  supplied: readonly string[],
  question: TreatyQuestion,
): Promise<ChosenKeys> {
  if (supplied.length > 0) return { keys: supplied, basis: 'caller_supplied_keys' }
  if (question === 'admission') return { keys: [], basis: 'none' }
  return { keys: await pinnedKeys(parts, treaty.issuer_sovereign_id), basis: 'recognized_issuer_keys' }
}
