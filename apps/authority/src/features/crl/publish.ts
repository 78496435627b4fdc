import { CRL_VALIDITY, HOUR, readInstant, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { CrlEntry, Instant, JsonObject } from '@chancery/protocol'
import { faultPoint } from '#faults'
import { type BuiltList, type CrlState, type ListChanges, type ListEntries, isLarge } from './entries-cache.ts'
import { type CrlHeader, type CrlParts, entryText, listText, publishFormerList } from './lists.ts'
import { requireCurrentKey } from '../../signing/current-key.ts'
import { dateAfter, isInFuture } from '../../clock/date-after.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { MAX_PLAIN_ENTRIES, buildLargeList } from './large-list.ts'
import { appendEntries, countEntries, insertVersion, joinEntries, pruneEntries } from './queries.ts'
import type { CrlVersion, NewEntry } from './queries.ts'
import { replaceSegments } from './segment-queries.ts'
import { loadSignedEntries, requireLiving } from './continuity.ts'
import { changeText } from './signed-list.ts'

/**
 * Restores entries that were pruned while a clock was far ahead: revoked certificates that are unexpired by this clock.
 * Without them a relying party would accept those again. Returns whether there were any.
 */
async function restorePruned(
  tx: Transaction,
  parts: CrlParts,
  previous: CrlVersion | undefined,
  now: Instant,
): Promise<boolean> {
  if (previous === undefined || !isInFuture(previous.issuedAt, now)) return false
  const unlisted = await tx.query
    .selectFrom('issued_certs as c')
    .leftJoin('crl_entries as e', 'e.cert_id', 'c.cert_id')
    .select(['c.cert_id', 'c.expires_at', 'c.revoked_at', 'c.revocation_reason'])
    .where('c.status', '=', 'revoked')
    .where('c.expires_at', '>=', writeSortable(now - HOUR))
    .where('e.cert_id', 'is', null)
    .orderBy('c.revoked_at')
    .orderBy('c.cert_id')
    .execute()
  const entries = unlisted.map(({ cert_id, expires_at, revoked_at, revocation_reason }) => {
    const entry: CrlEntry = {
      certificate_id: cert_id,
      revoked_at: writeInstant(readInstant(revoked_at ?? '') ?? now),
      reason: (revocation_reason ?? 'unspecified') as CrlEntry['reason'],
      issuer: parts.signing.keyId,
    }
    return { cert_id, entry_json: entryText(entry), expires_at }
  })
  await appendEntries(tx, entries)
  return entries.length > 0
}

/** Builds and signs a list as one text. */
async function buildPlainList(
  tx: Reader,
  parts: CrlState,
  previous: CrlVersion | undefined,
  changes: ListChanges,
  { header, now }: { readonly header: CrlHeader; readonly now: Instant },
): Promise<BuiltList> {
  const gathered = await gatherEntries(tx, parts, previous, changes)
  const { text: entries, count } = gathered
  let before: string | undefined
  if (gathered.isRead && previous !== undefined && !changes.isRecovered) {
    before = cachedText(parts, previous) ?? (await loadSignedEntries(tx, parts, previous))
    await requireLiving(tx, parts, { before, entries, now })
  }
  const body = listText(header, entries)
  const crl_json = `${body.slice(0, -1)},"signatures":[${await parts.signing.signText(body)}]}`
  const change_json = changeText(previous, {
    before,
    after: entries,
    appended: gathered.isRead ? undefined : changes.appended,
  })
  const { sequence, issuedAt } = header
  return {
    count,
    // Canonical form is ASCII: one byte per character.
    bytes: crl_json.length,
    row: { crl_json, change_json, frame_json: null, segments_json: null, digest: null },
    stored: () => ({ sequence, issuedAt, text: entries, count }),
  }
}

function cachedText({ entries }: CrlState, previous: CrlVersion | undefined): string | undefined {
  const cached = entries.find(previous)
  return cached === undefined || isLarge(cached) ? undefined : cached.text
}

/** Appends to the cached entries of the last version, or reads all entries from the database. */
async function gatherEntries(
  tx: Reader,
  parts: CrlState,
  previous: CrlVersion | undefined,
  { appended, pruned, isRewritten }: ListChanges,
): Promise<{ readonly text: string; readonly count: number; readonly isRead: boolean }> {
  const cached = cachedText(parts, previous)
  if (cached === undefined || pruned > 0 || isRewritten)
    return { ...(await joinEntries(parts.database, tx)), isRead: true }
  const added = appended.map((entry) => entry.entry_json)
  // It contains everything that this process signed, so nothing can be missing.
  const text = [...(cached === '' ? [] : [cached]), ...added].join(',')
  return { text, count: (previous?.entries ?? 0) + added.length, isRead: false }
}

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
