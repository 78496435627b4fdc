import { Refusal } from '@chancery/contract'
import {
  canonicalJson,
  fails,
  isActiveState,
  readJson,
  readRecognitionTreaty,
  treatyLifecycle,
  verifyTreaty,
} from '@chancery/protocol'
import type { JsonValue, RecognitionTreaty, TreatyReason, Verdict } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { findTreaty, listTreatiesFor } from './store.ts'

export type TrustBasis = 'this_authority' | 'caller_supplied_keys' | 'recognized_issuer_keys'

export interface TreatyJudgement {
  readonly verdict: Verdict<TreatyReason | 'not_held' | 'issuer_not_recognized'>
  readonly trust_basis: TrustBasis
}

/** Subject keys of own treaties for this sovereign that are in force now. */
export async function pinnedKeys(office: Office, subject: string): Promise<readonly string[]> {
  const rows = await listTreatiesFor(office.store.db, office.genesis.network_name, subject)
  const inForce = rows.filter((row) => isActiveState(treatyLifecycle(row, office.clock.now()).state))
  return [...new Set(inForce.flatMap((row) => readRecognitionTreaty(readJson(row.treaty_json)).subject_public_keys))]
}

/** protocol/core 17.2 from check 3 on: which keys are used for the issuer, then whether the treaty holds under them. */
export async function judgeTreaty(
  office: Office,
  treaty: RecognitionTreaty,
  posted: JsonValue,
  supplied: readonly string[],
  expected: { readonly issuer: string | undefined; readonly subject: string | undefined },
): Promise<TreatyJudgement> {
  const held = await findTreaty(office.store.db, treaty.treaty_id)
  const isOwn = treaty.issuer_sovereign_id === office.genesis.network_name
  const { keys, basis } = await chooseKeys(office, treaty, supplied, isOwn)
  // An own treaty counts only as it is stored, signatures included: a second signature would be a second paper.
  if (isOwn && (held === undefined || canonicalJson(readJson(held.treaty_json)) !== canonicalJson(posted)))
    return { verdict: fails('not_held'), trust_basis: basis }
  if (keys.length === 0) return { verdict: fails('issuer_not_recognized'), trust_basis: basis }
  const isRevoked = held?.status === 'revoked' && held.issuer_sovereign_id === treaty.issuer_sovereign_id
  const against = {
    keys,
    expectedIssuer: expected.issuer,
    expectedSubject: expected.subject,
    isRevoked,
    now: office.clock.now(),
  }
  return { verdict: await verifyTreaty(treaty, against), trust_basis: basis }
}

async function chooseKeys(
  office: Office,
  treaty: RecognitionTreaty,
  supplied: readonly string[],
  isOwn: boolean,
): Promise<{ keys: readonly string[]; basis: TrustBasis }> {
  if (isOwn) {
    if (supplied.some((key) => !office.ownKeys.all.includes(key))) throw new Refusal('caller_keys_not_accepted')
    return { keys: ownKeysAt(office.ownKeys, treaty.issued_at), basis: 'this_authority' }
  }
  if (supplied.length > 0) return { keys: supplied, basis: 'caller_supplied_keys' }
  return { keys: await pinnedKeys(office, treaty.issuer_sovereign_id), basis: 'recognized_issuer_keys' }
}
