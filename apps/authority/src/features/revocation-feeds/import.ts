import { Refusal, type RefusalCode, revocationFeeds } from '@chancery/contract'
import {
  FormError,
  asJson,
  hasSortedIds,
  isJsonObject,
  isPartOf,
  readFeedIndex,
  readFeedPart,
  readRevocationFeed,
  shape,
  signedBytes,
  verifySignature,
  withSortedIds,
} from '@chancery/protocol'
import type { FeedIndex, FeedPart, JsonObject, JsonValue, RevocationFeed } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { type RevocationFeedsParts, confirmFeed } from './peers.ts'
import { type ImportProblem, concludeIndex, storeFeed, storePart } from './store-imported.ts'
import { isPublicKeyText, readMember, readOrRefuse, refuseUnknownMembers } from '../../requests/read-fields.ts'

/** Keys that an operator supplies: by id, or as a plain list whose ids do not matter. */
type SuppliedKeys = { readonly byId: ReadonlyMap<string, string> } | { readonly any: readonly string[] }

/** A plain feed, or its index with some of the parts. */
type Imported = { readonly feed: RevocationFeed } | { readonly index: FeedIndex; readonly parts: readonly FeedPart[] }

export interface ImportRequest {
  readonly imported: Imported
  readonly supplied: SuppliedKeys | undefined
  readonly expectedIssuer: string | undefined
  readonly acceptJump: boolean
}

/** Maximum number of parts in one request. A whole feed is sent in several. */
const MAX_PARTS = 16

/** Checks 1 and 2 of protocol/core 18.3. */
function readImportRequest(body: JsonObject): ImportRequest {
  refuseUnknownMembers(body, revocationFeeds.import.body.names)
  const imported = readOrRefuse('invalid_sovereign_revocation_feed', () => readImported(body))
  const supplied = readSuppliedKeys(body['issuer_public_keys'])
  const expected = body['expected_issuer_sovereign_id']
  if (expected !== undefined && typeof expected !== 'string') throw new Refusal('wrong_issuer')
  const acceptJump = readMember(body['accept_sequence_jump'], false, shape.boolean, 'invalid_input')
  return { imported, supplied, expectedIssuer: expected, acceptJump }
}

function readImported(body: JsonObject): Imported {
  if (body['index'] === undefined && body['parts'] === undefined)
    return { feed: readRevocationFeed(body['feed'] ?? null) }
  if (body['feed'] !== undefined) throw new FormError('feed', 'is given together with an index')
  const index = readFeedIndex(body['index'] ?? null)
  const parts = shape.arrayOf(readFeedPart, { min: 1, max: MAX_PARTS })(body['parts'] ?? null, 'parts')
  if (new Set(parts.map(({ part }) => part)).size !== parts.length) throw new FormError('parts', 'names a part twice')
  if (!parts.every((part) => isPartOf(part, index))) throw new FormError('parts', 'is not in this index')
  return { index, parts }
}

function readSuppliedKeys(value: JsonValue | undefined): SuppliedKeys | undefined {
  if (value === undefined || value === null) return undefined
  if (Array.isArray(value)) {
    if (value.length > 64 || !value.every(isPublicKeyText)) throw new Refusal('invalid_public_keys')
    return value.length === 0 ? undefined : { any: value }
  }
  if (!isJsonObject(value)) throw new Refusal('invalid_public_keys')
  const entries = Object.entries(value)
  if (entries.length > 64 || !entries.every(([, key]) => isPublicKeyText(key))) throw new Refusal('invalid_public_keys')
  return entries.length === 0 ? undefined : { byId: new Map(entries as [string, string][]) }
}

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
