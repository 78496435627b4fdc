import {
  FormError,
  boundaryDecisionForm,
  isJsonObject,
  justificationForm,
  readReceived,
  signerKeys,
  verifyJustification,
  verifyRecord,
} from '@chancery/protocol'
import type { JsonObject, OfflineGround, OfflineVerdict } from '@chancery/protocol'

/** What `evaluate --out` writes: the answer of the authority, decision and account of it. */
export interface EvaluatedFile {
  readonly decision: JsonObject
  readonly proof: JsonObject
}

/** Exactly these two members: beside any other, nobody knows what the file is meant to say. */
export function findEvaluated(value: JsonObject): EvaluatedFile | undefined {
  const { decision, justification_proof: proof } = value
  if (Object.keys(value).length !== 2 || !isJsonObject(decision) || !isJsonObject(proof)) return undefined
  return { decision, proof }
}

/** Both hold, and the account is that of this decision (protocol/trust-operations 4.9). */
export async function verifyEvaluated(
  { decision, proof }: EvaluatedFile,
  ground: OfflineGround,
): Promise<OfflineVerdict> {
  const verdict = await verifyRecord('boundary-decision', decision, ground)
  if (!verdict.ok) return verdict
  try {
    const { record } = readReceived(boundaryDecisionForm, decision)
    const account = await verifyJustification(readReceived(justificationForm, proof), signerKeys(ground), record)
    if (!account.ok) return { ok: false, reason: account.reason, problem: 'justification_proof' }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: `justification_proof.${error.message}` }
  }
  return verdict
}
