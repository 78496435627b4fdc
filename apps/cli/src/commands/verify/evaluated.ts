import {
  FormError,
  digestOf,
  isJsonObject,
  justificationForm,
  meaningOf,
  readReceived,
  signerKeys,
  verifyJustification,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type {
  CheckedPart,
  DecisionMeaning,
  JsonObject,
  OfflineTrust,
  RefusedRecord,
  Unproven,
} from '@chancery/protocol'

/** What the check of a file found. */
export type VerifiedFile =
  | {
      readonly ok: true
      readonly checked: readonly CheckedPart[]
      readonly unproven: readonly Unproven[]
      /** What a decision says. */
      readonly result?: DecisionMeaning
    }
  | RefusedRecord

/** The file of `evaluate --out` and `ask --out`: the response of the authority with decision and justification. */
export interface EvaluatedFile {
  readonly decision: JsonObject
  readonly proof: JsonObject
  /** In a response on an attestation of a partner, and to a node. */
  readonly context?: JsonObject
}

const MEMBERS: ReadonlySet<string> = new Set(['decision', 'justification_proof', 'context', 'resource_head'])

/** Accepts the fields of a response only, because any other field makes the meaning unclear. */
export function findEvaluated(value: JsonObject): EvaluatedFile | undefined {
  const { decision, justification_proof: proof, context } = value
  if (!Object.keys(value).every((name) => MEMBERS.has(name))) return undefined
  if (!isJsonObject(decision) || !isJsonObject(proof)) return undefined
  return isJsonObject(context) ? { decision, proof, context } : { decision, proof }
}

/** All are valid, and justification and context are of this decision (protocol/trust-operations 4.9). */
export async function verifyEvaluated(
  { decision, proof, context }: EvaluatedFile,
  trust: OfflineTrust,
): Promise<VerifiedFile> {
  const verdict = await verifyRecordOfKind('boundary-decision', decision, trust)
  if (!verdict.ok) return verdict
  const { record, checked, unproven } = verdict
  // A reader takes the context of the file for the question that was decided.
  const bound = record.policy_binding?.context_digest
  if (context !== undefined && bound !== undefined && digestOf(context) !== bound)
    return { ok: false, reason: 'context_digest_mismatch' }
  try {
    const account = await verifyJustification(readReceived(justificationForm, proof), signerKeys(trust), record)
    if (!account.ok) return { ok: false, reason: account.reason, problem: 'justification_proof' }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: `justification_proof.${error.message}` }
  }
  return { ok: true, checked, unproven, result: meaningOf(record) }
}
