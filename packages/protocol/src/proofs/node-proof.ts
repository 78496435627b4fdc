import { canonicalBytes } from '../canonical/canonical-json.ts'
import { toBase64 } from '../canonical/base64.ts'
import { type JsonObject, member } from '../canonical/utf8.ts'
import { CLOCK_TOLERANCE, type Instant, readInstant } from '../canonical/time.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { isNonce } from '../reading/text.ts'
import { type Signer, verifySignature } from '../signing/keys.ts'

export type NodeAction =
  | 'join'
  | 'heartbeat'
  | 'renew'
  | 'boundary-request'
  | 'budget-status'
  | 'wit'
  | 'present'
  | 'approval-status'
  | 'approval-cancel'
  | 'approval-list'
  | 'approval-show'
export type NodeProofReason = 'missing_fields' | 'invalid_timestamp' | 'stale_timestamp' | 'invalid_signature'

/** C(body without `signature`): every other member takes part, known or not (protocol/core 5.1). */
export function nodeProofBytes(body: JsonObject): Uint8Array {
  const { signature: _signature, ...rest } = body
  return canonicalBytes(rest)
}

/**
 * The stateless half of a node's proof, in the order of protocol/core 5.1:
 * 1. signature, timestamp and nonce are there and bounded;
 * 2. the timestamp is one; 3. it is fresh, so a captured proof expires after minutes;
 * 4. the node key signed exactly this body, for this authority and this action where it says so: an unused
 *    heartbeat must not become a renewal elsewhere. A decision request must name both.
 * Spending the nonce is the caller's: only a proof that verified may touch that table.
 */
export async function verifyNodeProof(
  body: JsonObject,
  against: { readonly action: NodeAction; readonly audience: string; readonly now: Instant },
): Promise<Verdict<NodeProofReason>> {
  const [signature, timestamp, nonce] = [member(body, 'signature'), member(body, 'timestamp'), member(body, 'nonce')]
  if (typeof signature !== 'string' || typeof timestamp !== 'string' || typeof nonce !== 'string')
    return invalid('missing_fields')
  if (signature === '' || signature.length > 256 || timestamp === '' || timestamp.length > 40 || !isNonce(nonce))
    return invalid('missing_fields')
  const instant = readInstant(timestamp)
  if (instant === undefined) return invalid('invalid_timestamp')
  const age = against.now - instant
  if (age > CLOCK_TOLERANCE || age < -CLOCK_TOLERANCE) return invalid('stale_timestamp')
  const audience = member(body, 'audience')
  const isOptional = !NAMED.has(against.action)
  if (!(isOptional && audience === undefined) && audience !== against.audience) return invalid('invalid_signature')
  const action = member(body, 'action')
  if (!(isOptional && action === undefined) && action !== against.action) return invalid('invalid_signature')
  const key = member(body, 'node_public_key')
  if (typeof key !== 'string' || !(await verifySignature(key, nodeProofBytes(body), signature)))
    return invalid('invalid_signature')
  return VALID
}

/** Newer actions, whose proofs name audience and action. */
const NAMED: ReadonlySet<NodeAction> = new Set([
  'boundary-request',
  'budget-status',
  'wit',
  'present',
  'approval-status',
  'approval-cancel',
  'approval-list',
  'approval-show',
])

/** Adds the signature a node proof needs; the body already holds timestamp and nonce. */
export async function signNodeProof<Body extends JsonObject>(
  body: Body,
  signer: Signer,
): Promise<Body & { signature: string }> {
  return { ...body, signature: toBase64(await signer.sign(nodeProofBytes(body))) }
}
