import { Refusal } from '@chancery/contract'
import {
  FormError,
  canonicalJson,
  digestOf,
  isJsonObject,
  member,
  readSubmittedEvidence,
  sha256Hex,
  signedProjection,
} from '@chancery/protocol'
import type { ExecutionEvidence, JsonObject, Received } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText, noteCaller } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { EvidenceState } from './resources.ts'
import type { SignatureCheck } from './check-submission.ts'
import type { AppendItem } from './append.ts'
import type { EvidenceAppender } from './appender.ts'
import type { RejectionFields } from './rejections.ts'

export interface ExecutionParts extends EvidenceState {
  readonly appender: EvidenceAppender
}

/**
 * POST /evidence/execution
 * Stores evidence of an action under a decision. The signature is verified before the chain is locked. All checks that
 * depend on the store run under the lock, in the order of protocol/trust-operations 6.5.
 */
export async function execution(call: Call, parts: ExecutionParts): Promise<HttpResponse> {
  const evidence = member(call.body, 'evidence')
  if (!isJsonObject(evidence)) throw new Refusal('invalid_evidence')
  const item = await readSubmission(parts, evidence, requestDetails(call))
  let takeBack: (() => void) | undefined
  if (item.kind === 'execution' && item.verdict?.isGood === true) {
    noteCaller(call, 'executor')
    takeBack = await parts.dailyBytes.take([{ kind: 'key', name: item.verdict.key }], item.payload.length)
  }
  const { status, text } = await parts.appender.append(item)
  // A record that is stored already. A refusal is stored, too.
  if (status === 200) takeBack?.()
  return jsonText(text, status)
}

async function readSubmission(parts: EvidenceState, evidence: JsonObject, cause: JsonObject): Promise<AppendItem> {
  const names = (): RejectionFields => namesOf(evidence)
  let received: Received<ExecutionEvidence>
  try {
    received = readSubmittedEvidence(evidence)
  } catch (error) {
    if (error instanceof FormError) return { kind: 'rejection', code: 'evidence_malformed', names, cause }
    throw error
  }
  const { signed, payload } = writeSubmission(received)
  const verdict = await verifyBefore(parts, received.record, signed)
  return { kind: 'execution', received, digest: sha256Hex(signed), verdict, payload, names, cause }
}

/**
 * The text that is signed, and the whole of the record. The whole is the signed text with the signature, whose name is
 * the last one in order, unless a member without a value is left out of the signed text.
 */
function writeSubmission(received: Received<ExecutionEvidence>): { readonly signed: string; readonly payload: string } {
  const { wire } = received
  const projection = signedProjection(received)
  const signed = canonicalJson(projection)
  const names = Object.keys(projection)
  const isWhole =
    Object.keys(wire).length === names.length + 1 && names.every((name) => projection[name] === wire[name])
  const payload = isWhole
    ? `${signed.slice(0, -1)},"signature":${canonicalJson(member(wire, 'signature') ?? null)}}`
    : canonicalJson(wire)
  return { signed, payload }
}

/** Verified without the lock, because it is most of the work. Under the lock the key is compared again. */
async function verifyBefore(
  parts: EvidenceState,
  record: ExecutionEvidence,
  signed: string,
): Promise<SignatureCheck | undefined> {
  if (record.signature === null) return undefined
  const { key_id, sig } = record.signature
  const key = await parts.executorKeys.find(parts, key_id)
  return key === undefined ? undefined : { key, isGood: await parts.signatureChecks.verify({ key, signed, sig }) }
}

/** Read as far as possible, whatever else is wrong. Truncated, because the caller chose them. */
function namesOf(evidence: JsonObject): RejectionFields {
  const text = (name: string): string | null => {
    const value = member(evidence, name)
    // A column cannot store a NUL or half of a surrogate pair.
    return typeof value === 'string' ? value.replaceAll('\u0000', '').slice(0, 256).toWellFormed() : null
  }
  return {
    submitted_digest: digestOf(evidence),
    evidence_id: text('evidence_id'),
    decision_id: text('decision_id'),
    resource_id: text('resource_id'),
    executor_sovereign_id: text('executor_sovereign_id'),
  }
}
