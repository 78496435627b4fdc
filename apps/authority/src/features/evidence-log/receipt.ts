import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import {
  HASH_BYTES,
  hashLeaf,
  inclusionProof,
  nodesFromTiles,
  openCheckpointByAny,
  readReceipt,
  signReceipt,
  verifyInclusion,
  verifyReceipt,
} from '@chancery/protocol'
import { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { statedOrigin } from './continuity.ts'
import type { EvidenceLogParts } from './identity.ts'
import { findDecisionEntry, findLog, findTile } from './queries.ts'

/**
 * GET /admin/evidence-log/receipts/{decision_id}
 * Returns a COSE receipt (RFC 9942): the log states that the decision is in the tree of its last checkpoint. Only a
 * root that a checkpoint has is signed.
 */
export async function receipt(call: OperatorCall, parts: EvidenceLogParts): Promise<HttpResponse> {
  const id = call.params['decision_id'] ?? ''
  const db = parts.database.read
  const [entry, state] = [await findDecisionEntry(db, id), await findLog(db)]
  if (entry === undefined) throw new Refusal('not_found')
  const index = entry.store_sequence - 1
  const log =
    state === undefined ? undefined : await openCheckpointByAny(state.note, statedOrigin(state.note), parts.keys.all)
  // RFC 9942 has no receipt with an empty path, which is that of a log of one entry.
  if (log === undefined || index >= log.size || log.size === 1)
    throw new Refusal('service_unavailable', { reason: 'checkpoint_pending' })
  parts.signing.requireAllowed()
  const read = nodesFromTiles(log.size, async ({ level, tile, width }) => {
    const hashes = await findTile(db, level, tile)
    if (hashes === undefined || hashes.length < width * HASH_BYTES) throw new Error('a tile of the log is missing')
    return hashes
  })
  const leafHash = hashLeaf(Buffer.from(entry.entry_digest, 'hex'))
  const proof = await inclusionProof(index, log.size, read)
  if (!verifyInclusion({ index, size: log.size, leafHash, root: log.root, proof }))
    throw new Error(`entry ${entry.store_sequence} is not in the log as it was signed`)
  const signer = parts.logSigners[0] ?? parts.signing.signer
  const facts = { issuer: log.origin, subject: `urn:chancery:decision:${id}`, size: log.size, index, proof }
  const bytes = await signReceipt(facts, log.root, signer)
  const made = readReceipt(bytes)
  if (made === undefined || !(await verifyReceipt(made, leafHash, signer.publicKey)))
    throw new Error('the signing key produced a receipt that does not verify')
  return new HttpResponse(bytes, CONTENT_TYPES.receipt)
}
