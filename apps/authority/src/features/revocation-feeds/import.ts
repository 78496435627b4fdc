import { Refusal, type RefusalCode } from '@chancery/contract'
import { asJson, hasSortedIds, signedBytes, verifySignature, withSortedIds } from '@chancery/protocol'
import type { FeedIndex, JsonObject, RevocationFeed } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { type ImportProblem, concludeIndex, storeFeed, storePart } from './store-imported.ts'
import { type Imported, type SuppliedKeys, readImportRequest } from './requests.ts'
import { confirmFeed } from './peers.ts'

/**
 * POST /admin/sovereign-revocation-feeds/import
 * Imports the revocations of another sovereign: a plain feed, or an index with some of its parts. The signature is
 * checked before the sequence. Imported ids stay revoked.
 */
export async function importFeed(call: OperatorCall, parts: RevocationFeedsParts): Promise<JsonObject> {
  const { imported, supplied, expectedIssuer, acceptJump } = readImportRequest(call.body)
  const signed = 'feed' in imported ? imported.feed : imported.index
  const issuer = signed.issuer_sovereign_id
  const isForeign = issuer !== parts.network.name && (expectedIssuer === undefined || expectedIssuer === issuer)
  if (!isForeign) return reject(call, parts, signed, 'wrong_issuer')
  const pinned = await parts.recognitionTreaties.pinnedKeys(issuer)
  if (supplied === undefined && pinned.length === 0)
    throw new Refusal('missing_issuer_public_keys', { issuer_sovereign_id: issuer })
  if (signed.signatures.length === 0) return reject(call, parts, signed, 'missing_signature')
  if (!(await isSigned(signed, supplied ?? { any: pinned }))) return reject(call, parts, signed, 'invalid_signature')
  const answer = {
    accepted: true,
    reason: 'accepted',
    ...identity(signed),
    revoked_count: countIds(imported),
    trust_basis: supplied === undefined ? 'recognized_issuer_keys' : 'caller_supplied_keys',
  }
  const details = { ...answer, ...differs(supplied, pinned), ...requestDetails(call) }
  const outcome = await storeImported(parts, imported, acceptJump, details)
  if (outcome === 'stale_sequence') {
    const isStored = await parts.database.write((tx) => confirmFeed(tx, signed, parts.clock.now()))
    return reject(call, parts, signed, 'stale_sequence', isStored ? { unchanged: true } : {})
  }
  if (outcome === 'sequence_jump')
    throw new Refusal('invalid_sovereign_revocation_feed', { reason: 'sequence_jump', ...identity(signed) })
  return { ...answer, complete: outcome.complete }
}

/**
 * Imports a plain feed in one transaction. Parts are imported in one transaction each: after a crash, more is revoked,
 * never less.
 */
async function storeImported(
  parts: RevocationFeedsParts,
  imported: Imported,
  acceptJump: boolean,
  details: JsonObject,
): Promise<ImportProblem | { readonly complete: boolean }> {
  const note = (complete: boolean, isJump: boolean, more: JsonObject = {}): JsonObject => ({
    ...details,
    ...more,
    complete,
    ...(isJump ? { accept_sequence_jump: true } : {}),
  })
  if ('feed' in imported)
    return parts.database.write(async (tx) => {
      await tx.lock('imports')
      const stored = await storeFeed(tx, parts, imported.feed, acceptJump)
      if (typeof stored !== 'string')
        await parts.audit.record(tx, {
          type: 'sovereign_revocation_feed_imported',
          details: note(stored.complete, stored.isJump),
        })
      return stored
    })
  const { index, parts: signedParts } = imported
  for (const part of signedParts) {
    const problem = await parts.database.write(async (tx) => {
      await tx.lock('imports')
      const stored = await storePart(tx, parts, index, part, acceptJump)
      if (typeof stored === 'string') return stored
      await parts.audit.record(tx, {
        type: 'sovereign_revocation_feed_imported',
        details: note(false, stored.isJump, { part: part.part }),
      })
      return undefined
    })
    if (problem !== undefined) return problem
  }
  return parts.database.write(async (tx) => {
    await tx.lock('imports')
    const concluded = await concludeIndex(tx, parts, index, acceptJump)
    if (concluded === 'sequence_jump') return concluded
    await confirmFeed(tx, index, parts.clock.now())
    if (concluded.complete)
      await parts.audit.record(tx, { type: 'sovereign_revocation_feed_imported', details: note(true, false) })
    return concluded
  })
}

function countIds(imported: Imported): number {
  if ('feed' in imported) return new Set(imported.feed.revoked_attestation_ids).size
  return imported.parts.reduce((sum, part) => sum + part.revoked_attestation_ids.length, 0)
}

/**
 * Verified as received, or over sorted ids. If keys are given by id, only the key that the signature names is tried.
 */
async function isSigned(record: RevocationFeed | FeedIndex, keys: SuppliedKeys): Promise<boolean> {
  const isInOrder = !('feed_id' in record) || hasSortedIds(record)
  for (const text of isInOrder ? [record] : [record, withSortedIds(record)]) {
    const message = signedBytes(asJson(text), 'signatures')
    for (const { key_id, sig } of record.signatures) {
      const candidates = 'any' in keys ? keys.any : [keys.byId.get(key_id)].filter((key) => key !== undefined)
      for (const key of candidates) if (await verifySignature(key, message, sig)) return true
    }
  }
  return false
}

/** Audits that an operator supplied other keys than a treaty pins. The dashboard shows it. */
function differs(supplied: SuppliedKeys | undefined, pinned: readonly string[]): JsonObject {
  if (supplied === undefined || pinned.length === 0) return {}
  const keys = 'any' in supplied ? supplied.any : [...supplied.byId.values()]
  return keys.every((key) => pinned.includes(key)) ? {} : { differs_from_pinned: true }
}

async function reject(
  call: OperatorCall,
  parts: RevocationFeedsParts,
  record: RevocationFeed | FeedIndex,
  reason: RefusalCode,
  more: JsonObject = {},
): Promise<never> {
  const details = { ...identity(record), reason, ...requestDetails(call) }
  await parts.audit.recordRefusal({ type: 'sovereign_revocation_feed_rejected', details }, call)
  throw new Refusal(reason, { ...identity(record), ...more })
}

function identity(record: RevocationFeed | FeedIndex): JsonObject {
  const feed_id = 'feed_id' in record ? record.feed_id : record.index_id
  return { feed_id, issuer_sovereign_id: record.issuer_sovereign_id, sequence: record.sequence }
}
