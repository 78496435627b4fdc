import { Refusal } from '@chancery/contract'
import { readInstant, verifyJustification, verifyReceivedPlainly } from '@chancery/protocol'
import type { JsonObject, JustificationProof, Received } from '@chancery/protocol'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { VoteRequest } from './requests.ts'
import type { FeatureBase } from '../../core.ts'
import type { Partners } from '../partners/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'

export interface ConsensusParts extends FeatureBase {
  readonly partners: Pick<Partners, 'acceptedKeys'>
  readonly recognitionTreaties: RecognitionTreaties
}

/** Keys with which this authority verifies a record of another sovereign, by their source. */
export interface AcceptedKeys {
  /** Of treaties in force. */
  readonly recognized: readonly string[]
  /** Of a registered partner, for the date of the record. */
  readonly pinned: readonly string[]
}

/** `date` is that of the record to verify. */
export async function acceptedKeysOf(parts: ConsensusParts, sovereign_id: string, date: string): Promise<AcceptedKeys> {
  const [{ keys }, pinned] = await Promise.all([
    parts.recognitionTreaties.findPartyKeys(sovereign_id),
    parts.partners.acceptedKeys(sovereign_id, readInstant(date) ?? 0n),
  ])
  return { recognized: keys, pinned }
}

type TrustBasis = 'this_authority' | 'recognized_issuer_keys' | 'partner_pinned_keys' | 'caller_supplied_keys'

/** Keys to verify a proof with, in the order in which they are tried. */
interface IssuerKeys {
  readonly candidates: readonly { readonly basis: TrustBasis; readonly keys: readonly string[] }[]
  readonly differs: JsonObject
}

/**
 * Checks 2 to 4 of protocol/trust-operations 8.4: keys of the issuer, signature of the proof, and the decision that is
 * sent with it. Returns what is audited.
 */
export async function trustJustification(
  parts: ConsensusParts,
  { justification, suppliedKeys, decision }: VoteRequest,
): Promise<JsonObject> {
  const { issuer_sovereign_id } = justification.record
  const { candidates, differs } = await findIssuerKeys(parts, justification, suppliedKeys)
  let reason = 'unknown_issuer'
  for (const { basis, keys } of candidates) {
    const signed = await verifyReceivedPlainly(justification, keys)
    if (signed.ok) {
      if (decision !== undefined) {
        const isGenuine = (await verifyReceivedPlainly(decision, keys)).ok
        const isExplained = isGenuine && (await verifyJustification(justification, keys, decision.record)).ok
        if (!isExplained) throw untrusted('decision_mismatch')
      }
      return { issuer_sovereign_id, trust_basis: basis, ...differs }
    }
    reason = signed.reason
  }
  throw untrusted(reason)
}

async function findIssuerKeys(
  parts: ConsensusParts,
  { record }: Received<JustificationProof>,
  supplied: readonly string[],
): Promise<IssuerKeys> {
  const { issuer_sovereign_id, proof_issued_at } = record
  if (issuer_sovereign_id === parts.network.name) {
    if (supplied.some((key) => !parts.keys.all.includes(key))) throw new Refusal('caller_keys_not_accepted')
    return { candidates: [{ basis: 'this_authority', keys: ownKeysAt(parts.keys, proof_issued_at) }], differs: {} }
  }
  const { recognized, pinned } = await acceptedKeysOf(parts, issuer_sovereign_id, proof_issued_at)
  const known = [...recognized, ...pinned]
  if (supplied.length > 0) {
    const isOther = known.length > 0 && supplied.some((key) => !known.includes(key))
    const differs = isOther ? { differs_from_pinned: true } : {}
    return { candidates: [{ basis: 'caller_supplied_keys', keys: supplied }], differs }
  }
  const candidates = [
    { basis: 'recognized_issuer_keys', keys: recognized },
    { basis: 'partner_pinned_keys', keys: pinned },
  ] as const
  return { candidates: candidates.filter(({ keys }) => keys.length > 0), differs: {} }
}

/** An authority assembles only proofs about its own justifications. */
export async function requireOwnJustification(
  parts: ConsensusParts,
  justification: Received<JustificationProof>,
): Promise<void> {
  const keys = ownKeysAt(parts.keys, justification.record.proof_issued_at)
  const verdict = await verifyReceivedPlainly(justification, keys)
  if (!verdict.ok) throw untrusted(verdict.reason)
}

function untrusted(reason: string): Refusal {
  return new Refusal('justification_untrusted', { reason })
}
