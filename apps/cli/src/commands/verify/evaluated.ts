import {
  FormError,
  boundaryDecisionForm,
  isJsonObject,
  justificationForm,
  readReceived,
  signerKeys,
  verifyJustification,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type { JsonObject, OfflineTrust, OfflineVerdict } from '@chancery/protocol'

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

/** Both are valid, and the justification is of this decision (protocol/trust-operations 4.9). */
export async function verifyEvaluated(
  { decision, proof }: EvaluatedFile,
  trust: OfflineTrust,
): Promise<OfflineVerdict> {
  const verdict = await verifyRecordOfKind('boundary-decision', decision, trust)
  if (!verdict.ok) return verdict
  try {
    const { record } = readReceived(boundaryDecisionForm, decision)
    const account = await verifyJustification(readReceived(justificationForm, proof), signerKeys(trust), record)
    if (!account.ok) return { ok: false, reason: account.reason, problem: 'justification_proof' }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: `justification_proof.${error.message}` }
  }
  return verdict
}
