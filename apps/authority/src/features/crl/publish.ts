import { CRL_VALIDITY, HOUR, type JsonObject, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { CrlState } from './state.ts'
import type { CrlParts } from './parts.ts'
import { requireCurrentKey } from '../../signing/current-key.ts'
import { dateAfter } from '../../clock/date-after.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { ListChanges } from './built-list.ts'
import { type ListEntries, isLarge } from './entries-cache.ts'
import { publishFormerList } from './former-key-list.ts'
import { MAX_PLAIN_ENTRIES, buildLargeList } from './large-list.ts'
import type { CrlHeader } from './list-text.ts'
import { restorePruned } from './restore-pruned.ts'
import { buildPlainList } from './plain-list.ts'
import { type CrlVersion, type NewEntry, appendEntries, countEntries, insertVersion, pruneEntries } from './queries.ts'
import { replaceSegments } from './segment-queries.ts'

export interface Change {
  readonly cause: 'revoke' | 'superseded' | 'refresh'
  readonly appended: readonly NewEntry[]
  /** Positions of entries that were listed before and got another text; true when they are not known. */
  readonly rewritten: readonly number[] | boolean
  readonly details: JsonObject
  /** A recovery restored the entries of any list, so the latest list in the database may be incomplete. */
  readonly isRecovered?: true
  /**
   * Dated now although its predecessor is dated in the future: a recovery from a clock that was ahead (reliability 8).
   */
  readonly isRedated?: true
}

/**
 * Signs and stores the next version. The caller has the lock of the list, so sequences have no gap and no fork. The
 * result may be cached only after COMMIT.
 */
export async function publishVersion(
  tx: Transaction,
  parts: CrlState,
  previous: CrlVersion | undefined,
  sequence: number,
  change: Change,
): Promise<{ readonly version: CrlVersion; readonly stored: ListEntries }> {
  // Read once, so that a clock jump cannot date the list by one time and prune it by another.
  const clockNow = parts.clock.now()
  const now = change.isRedated === true ? clockNow : dateAfter(parts, 'crl', previous?.issuedAt, clockNow)
  await requireCurrentKey(tx.query, parts)
  const appendedAt = await appendEntries(tx, change.appended)
  const isRestored = await restorePruned(tx, parts, previous, clockNow)
  // By the clock, not by the date of the list: a list dated by a wrong clock must not end entries early.
  const prunedAt = await pruneEntries(tx, writeSortable(clockNow - HOUR))
  const rewrittenAt = typeof change.rewritten === 'boolean' ? [] : change.rewritten
  const isAnywhere = change.rewritten === true || isRestored
  const changes: ListChanges = {
    appended: change.appended,
    positions: [...appendedAt, ...prunedAt, ...rewrittenAt],
    pruned: prunedAt.length,
    isRewritten: isAnywhere || rewrittenAt.length > 0,
    isAnywhere,
    isRecovered: change.isRecovered === true,
  }
  const header = { crl_id: parts.ids.uuid(), sequence, issuer: parts.signing.keyId, issuedAt: now }
  const hasSegments = (await countNext(tx.query, parts, previous, changes)) > MAX_PLAIN_ENTRIES
  const facts = { header, now: clockNow }
  const list = hasSegments
    ? await buildLargeList(tx, parts, previous, changes, facts)
    : await buildPlainList(tx.query, parts, previous, changes, facts)
  const { count, bytes } = list
  const version = { sequence, issuedAt: now, nextUpdate: now + CRL_VALIDITY, entries: count, bytes }
  faultPoint('crl-signed')
  const head_json = await signHead(parts, header, version)
  await insertVersion(tx, {
    sequence,
    ...list.row,
    head_json,
    issued_at: writeSortable(now),
    next_update: writeSortable(version.nextUpdate),
    entries: count,
    bytes,
  })
  if (!hasSegments && (changes.isRecovered || (previous?.entries ?? 0) > MAX_PLAIN_ENTRIES))
    await replaceSegments(tx, sequence)
  await publishFormerList(tx, parts, { sequence, issuedAt: now })
  await tx.raiseVersion('crl')
  const details = { sequence, entries: count, cause: change.cause, ...change.details }
  await parts.audit.record(tx, { type: 'crl_published', details })
  faultPoint('crl-stored')
  return { version, stored: list.stored(head_json) }
}

/** Sent with the list in its responses, for readers that cannot read the whole list. */
async function signHead(
  parts: CrlParts,
  { crl_id, issuer }: CrlHeader,
  { sequence, issuedAt, nextUpdate, entries, bytes = 0 }: CrlVersion,
): Promise<string> {
  const head = {
    list_id: crl_id,
    list_sequence: sequence,
    list_bytes: bytes,
    list_entries: entries,
    issued_at: writeInstant(issuedAt),
    next_update: writeInstant(nextUpdate),
    issuer,
  }
  return writeJson(await parts.signing.sign(head))
}

/** How many entries the list will have. */
async function countNext(
  tx: Reader,
  parts: CrlState,
  previous: CrlVersion | undefined,
  { appended, pruned, isAnywhere, isRewritten }: ListChanges,
): Promise<number> {
  const cached = parts.entries.find(previous)
  const isRead = cached === undefined || isAnywhere || (isRewritten && !isLarge(cached))
  return isRead ? countEntries(tx) : cached.count + appended.length - pruned
}
