import {
  FormError,
  JsonError,
  anchorDigest,
  readInstant,
  readJson,
  readReceived,
  sha256Hex,
  storeAnchorForm,
  toUtf8,
} from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Head, HighWater } from './mark-file.ts'
import { countEverRevoked } from '../database/certificate-counts.ts'
import type { Tx } from '../database/database.ts'

/** Everything a mark holds, besides who wrote it when. */
export type Heads = Omit<HighWater, 'mark_version' | 'network_name' | 'written_at'>

export function digestOf(text: string): string {
  return sha256Hex(toUtf8(text))
}

/** How far this database has come. */
export async function readHeads(db: Tx): Promise<Heads> {
  const crl = await db
    .selectFrom('crl_versions')
    .select(['sequence', 'crl_json'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const feed = await db
    .selectFrom('own_revocation_feeds')
    .select(['sequence', 'feed_json'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const evidence = await db.selectFrom('evidence_head').select(['last_sequence', 'last_digest']).executeTakeFirst()
  const anchor = await db
    .selectFrom('evidence_anchors')
    .select(['anchor_sequence', 'anchor_json'])
    .orderBy('anchor_sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const policies = await db
    .selectFrom('policy_versions')
    .select((eb) => eb.fn.max('position').as('last'))
    .executeTakeFirst()
  const keys = await db
    .selectFrom('revoked_operator_keys')
    .select(['key_id', 'revoked_at', 'reason', 'revoked_by'])
    .orderBy('key_id')
    .execute()
  const versions = await db.selectFrom('heads').select(['name', 'version']).orderBy('name').execute()
  return {
    crl: crl === undefined ? null : { sequence: crl.sequence, digest: digestOf(crl.crl_json) },
    feed: feed === undefined ? null : { sequence: feed.sequence, digest: digestOf(feed.feed_json) },
    evidence:
      evidence === undefined || evidence.last_digest === null
        ? null
        : { sequence: evidence.last_sequence, digest: evidence.last_digest },
    anchor:
      anchor === undefined ? null : { sequence: anchor.anchor_sequence, digest: digestOfAnchor(anchor.anchor_json) },
    policy_versions: Number(policies?.last ?? 0),
    revoked_certificates: await countEverRevoked(db),
    revoked_operator_keys: keys,
    versions: Object.fromEntries(versions.map(({ name, version }) => [name, Number(version)])),
    last_crl: crl?.crl_json ?? null,
    last_feed: feed?.feed_json ?? null,
  }
}

/** Number of the last anchor, 0 when there is none: entries below it must be in the mark, and counting them is dear. */
export async function readLastAnchor(db: Tx): Promise<number> {
  const row = await db
    .selectFrom('evidence_anchors')
    .select((eb) => eb.fn.max('anchor_sequence').as('last'))
    .executeTakeFirst()
  return Number(row?.last ?? 0)
}

/**
 * What of the mark this database has not reached, or has otherwise: a number that was reached must still have the same
 * content, or the history was written twice. A mark from before a recovery binds numbers and keys only: where two
 * histories met, both lists went into the one that was then published. Empty when the database is at the mark or
 * beyond it.
 */
export async function findRollback(
  db: Tx,
  heads: Heads,
  mark: HighWater,
  recoveredAt: Instant = 0n,
): Promise<string[]> {
  const below: string[] = []
  const isBefore = recoveredAt >= (readInstant(mark.written_at) ?? 0n)
  const isFork = async (head: Head | null, find: (sequence: number) => Promise<string | undefined>): Promise<boolean> =>
    !isBefore && isOther(head, find)
  if (isBelow(heads.crl, mark.crl) || (await isFork(mark.crl, (n) => findList(db, n)))) below.push('crl')
  if (isBelow(heads.feed, mark.feed) || (await isFork(mark.feed, (n) => findFeed(db, n)))) below.push('feed')
  if (await isEvidenceBelow(db, heads, mark)) below.push('evidence')
  // Counts of rows: those that came after the backup are lost, and no recovery brings them back.
  if (!isBefore) {
    if (heads.policy_versions < mark.policy_versions) below.push('policy')
    if (heads.revoked_certificates < mark.revoked_certificates) below.push('revoked_certificates')
  }
  const held = new Set(heads.revoked_operator_keys.map((key) => key.key_id))
  if (mark.revoked_operator_keys.some((key) => !held.has(key.key_id))) below.push('revoked_operator_keys')
  // A recovery leaps over every stamp of the lost history. A domain that a later release no longer has says nothing.
  for (const [name, version] of Object.entries(heads.versions))
    if (version < (mark.versions[name] ?? 0)) below.push(`${name} stamp`)
  return below
}

/** Entries or anchors that were given out are not there: neither number may be given out again. */
async function isEvidenceBelow(db: Tx, heads: Heads, mark: HighWater): Promise<boolean> {
  const { evidence, anchor = null } = mark
  if (isBelow(heads.evidence, evidence) || isBelow(heads.anchor ?? null, anchor)) return true
  return (await isOther(evidence, (n) => findEntry(db, n))) || (await isOther(anchor, (n) => findAnchor(db, n)))
}

function isBelow(head: Head | null, mark: Head | null): boolean {
  return mark !== null && (head === null || head.sequence < mark.sequence)
}

/** False also where the row is gone: retention removes old ones, and what is missing at the end is below. */
async function isOther(mark: Head | null, find: (sequence: number) => Promise<string | undefined>): Promise<boolean> {
  if (mark === null) return false
  const digest = await find(mark.sequence)
  return digest !== undefined && digest !== mark.digest
}

async function findList(db: Tx, sequence: number): Promise<string | undefined> {
  const row = await db.selectFrom('crl_versions').select('crl_json').where('sequence', '=', sequence).executeTakeFirst()
  if (row !== undefined) return digestOf(row.crl_json)
  const removed = await db
    .selectFrom('removed_crl_versions')
    .select('digest')
    .where('sequence', '=', sequence)
    .executeTakeFirst()
  return removed?.digest
}

async function findFeed(db: Tx, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('own_revocation_feeds')
    .select('feed_json')
    .where('sequence', '=', sequence)
    .executeTakeFirst()
  if (row !== undefined) return digestOf(row.feed_json)
  const removed = await db
    .selectFrom('removed_own_feeds')
    .select('digest')
    .where('sequence', '=', sequence)
    .executeTakeFirst()
  return removed?.digest
}

async function findEntry(db: Tx, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('evidence_entries')
    .select('entry_digest')
    .where('store_sequence', '=', sequence)
    .executeTakeFirst()
  return row?.entry_digest
}

async function findAnchor(db: Tx, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('evidence_anchors')
    .select('anchor_json')
    .where('anchor_sequence', '=', sequence)
    .executeTakeFirst()
  return row === undefined ? undefined : digestOfAnchor(row.anchor_json)
}

/** Over what was signed: a copy that somebody saved may be spelled otherwise. */
function digestOfAnchor(text: string): string {
  try {
    return anchorDigest(readReceived(storeAnchorForm, readJson(text)).record)
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    // A spoilt row is for the inspection to name; here it is only another content.
    return digestOf(text)
  }
}

export interface LastRecovery {
  readonly position: number
  readonly at: Instant
  readonly floor: Instant
}

/** The last recovery. A later one never lowers the floor of an earlier one. */
export async function readRecovery(db: Tx): Promise<LastRecovery> {
  const row = await db
    .selectFrom('recoveries')
    .select((eb) => [
      eb.fn.max('position').as('position'),
      eb.fn.max('recovered_at').as('at'),
      eb.fn.max('replay_floor').as('floor'),
    ])
    .executeTakeFirst()
  const instant = (text: string | null | undefined): Instant => readInstant(text ?? '') ?? 0n
  return { position: Number(row?.position ?? 0), at: instant(row?.at), floor: instant(row?.floor) }
}

/** What of any mark this database has not reached, each name once. */
export async function findBehind(db: Tx, marks: readonly HighWater[]): Promise<readonly string[]> {
  const [heads, { at }] = [await readHeads(db), await readRecovery(db)]
  const behind: string[] = []
  for (const mark of marks) behind.push(...(await findRollback(db, heads, mark, at)))
  return [...new Set(behind)]
}
