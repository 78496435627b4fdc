import { Refusal } from '@chancery/contract'
import type { ErrorCode } from '@chancery/contract'
import { asJson, signedBytes, verifySignature, writeJson, writeSortable } from '@chancery/protocol'
import type { JsonObject, RevocationFeed } from '@chancery/protocol'
import { causedBy, recordAudit, recordRefusedCaller } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import type { Tx } from '../../store/database.ts'
import { bumpHead } from '../../store/heads.ts'
import { pinnedKeys } from '../recognition-treaties/index.ts'
import { readImportRequest } from './requests.ts'
import type { SuppliedKeys } from './requests.ts'
import { insertImportedFeed, insertRevocations, lastImportedSequence } from './store.ts'

/** A feed near 2^53 must not silence an issuer for ever (protocol/core 18.3). */
const MAX_JUMP = 1_000_000

/**
 * POST /admin/sovereign-revocation-feeds/import
 * Takes over what another sovereign has withdrawn. Signature before sequence; what was imported once stays revoked.
 */
export async function importFeed(call: OperatorCall, office: Office): Promise<JsonObject> {
  const { feed, supplied, expectedIssuer, acceptJump } = readImportRequest(call.body)
  const issuer = feed.issuer_sovereign_id
  const isForeign =
    issuer !== office.genesis.network_name && (expectedIssuer === undefined || expectedIssuer === issuer)
  if (!isForeign) return reject(call, office, feed, 'wrong_issuer')
  const pinned = await pinnedKeys(office, issuer)
  if (supplied === undefined && pinned.length === 0)
    throw new Refusal('missing_issuer_public_keys', { issuer_sovereign_id: issuer })
  if (feed.signatures.length === 0) return reject(call, office, feed, 'missing_signature')
  if (!(await isSigned(feed, supplied ?? { any: pinned }))) return reject(call, office, feed, 'invalid_signature')

  const basis = supplied === undefined ? 'recognized_issuer_keys' : 'caller_supplied_keys'
  const answer = {
    accepted: true,
    reason: 'accepted',
    feed_id: feed.feed_id,
    issuer_sovereign_id: issuer,
    sequence: feed.sequence,
    revoked_count: feed.revoked_attestation_ids.length,
    trust_basis: basis,
  }
  const problem = await office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'imports')
    const last = await lastImportedSequence(tx, issuer)
    if (last !== undefined && feed.sequence <= last) return 'stale_sequence' as const
    const isJump = feed.sequence - (last ?? 0) > MAX_JUMP
    if (isJump && !acceptJump) return 'sequence_jump' as const
    await keep(tx, office, feed)
    const details = {
      ...answer,
      ...(isJump ? { accept_sequence_jump: true } : {}),
      ...differs(supplied, pinned),
      ...causedBy(call),
    }
    await recordAudit(tx, office, { type: 'sovereign_revocation_feed_imported', details })
    return undefined
  })
  if (problem === 'stale_sequence') return reject(call, office, feed, 'stale_sequence')
  if (problem === 'sequence_jump')
    throw new Refusal('invalid_sovereign_revocation_feed', { reason: 'sequence_jump', ...identity(feed) })
  return answer
}

/** Of keys given by id only the one the signature names is tried. */
async function isSigned(feed: RevocationFeed, keys: SuppliedKeys): Promise<boolean> {
  const message = signedBytes(asJson(feed), 'signatures')
  for (const { key_id, sig } of feed.signatures) {
    const candidates = 'any' in keys ? keys.any : [keys.byId.get(key_id)].filter((key) => key !== undefined)
    for (const key of candidates) if (await verifySignature(key, message, sig)) return true
  }
  return false
}

async function keep(tx: Tx, office: Office, feed: RevocationFeed): Promise<void> {
  const imported_at = writeSortable(office.clock.now())
  const { feed_id, sequence, issuer_sovereign_id, revoked_attestation_ids, revocation_reasons } = feed
  await insertImportedFeed(tx, {
    issuer_sovereign_id,
    sequence,
    feed_id,
    feed_json: writeJson(asJson(feed)),
    revoked_count: revoked_attestation_ids.length,
    imported_at,
  })
  const rows = revoked_attestation_ids.map((attestation_id) => {
    const reason = Object.hasOwn(revocation_reasons, attestation_id)
      ? (revocation_reasons[attestation_id] ?? null)
      : null
    return { issuer_sovereign_id, attestation_id, feed_id, sequence, reason, imported_at }
  })
  await insertRevocations(tx, rows)
  await bumpHead(tx, 'imports')
}

/** An operator who vouches for other keys than a treaty pins leaves a trace that the dashboard shows. */
function differs(supplied: SuppliedKeys | undefined, pinned: readonly string[]): JsonObject {
  if (supplied === undefined || pinned.length === 0) return {}
  const keys = 'any' in supplied ? supplied.any : [...supplied.byId.values()]
  return keys.every((key) => pinned.includes(key)) ? {} : { differs_from_pinned: true }
}

async function reject(call: OperatorCall, office: Office, feed: RevocationFeed, reason: ErrorCode): Promise<never> {
  const details = { ...identity(feed), reason, ...causedBy(call) }
  await recordRefusedCaller(office, { type: 'sovereign_revocation_feed_rejected', details })
  throw new Refusal(reason, identity(feed))
}

function identity(feed: RevocationFeed): JsonObject {
  return { feed_id: feed.feed_id, issuer_sovereign_id: feed.issuer_sovereign_id, sequence: feed.sequence }
}
