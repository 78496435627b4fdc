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
import { readCertificateCounts } from '../database/certificate-counts.ts'
import type { Reader } from '../database/database.ts'

/** The content of a mark, without its writer and time. */
export type Heads = Omit<HighWater, 'mark_version' | 'network_name' | 'written_at'>

export function digestOf(text: string): string {
  return sha256Hex(toUtf8(text))
}

/**
 * The digest of a stored list: of its text, where the row has it. The column is for large lists only, whose text is not in
 * the row; otherwise who can edit the database could give a changed list the digest of the mark.
 */
export function digestOfList({
  crl_json,
  digest,
}: {
  readonly crl_json: string
  readonly digest?: string | null
}): string {
  return crl_json === '' && typeof digest === 'string' ? digest : digestOf(crl_json)
}

/**
 * Reads the state of this database. A backup is also taken of a database of an earlier release, whose rows may lack
 * columns.
 */
export async function readHeads(db: Reader): Promise<Heads> {
  const crl = await db.selectFrom('crl_versions').selectAll().orderBy('sequence', 'desc').limit(1).executeTakeFirst()
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
  const keys = await db.selectFrom('revoked_operator_keys').selectAll().orderBy('key_id').execute()
  const versions = await db.selectFrom('heads').select(['name', 'version']).orderBy('name').execute()
  return {
    crl: crl === undefined ? null : { sequence: crl.sequence, digest: digestOfList(crl) },
    feed: feed === undefined ? null : { sequence: feed.sequence, digest: digestOf(feed.feed_json) },
    evidence:
      evidence === undefined || evidence.last_digest === null
        ? null
        : { sequence: evidence.last_sequence, digest: evidence.last_digest },
    anchor:
      anchor === undefined ? null : { sequence: anchor.anchor_sequence, digest: digestOfAnchor(anchor.anchor_json) },
    policy_versions: Number(policies?.last ?? 0),
    revoked_certificates: (await readCertificateCounts(db)).revoked,
    revoked_operator_keys: keys,
    versions: Object.fromEntries(versions.map(({ name, version }) => [name, Number(version)])),
    // A large list has a file next to the mark.
    last_crl: crl === undefined || crl.crl_json === '' ? null : crl.crl_json,
    last_feed: feed?.feed_json ?? null,
  }
}

/**
 * Sequence of the last anchor, 0 when there is none. Entries up to it must be in the mark, and counting them is
 * expensive.
 */
export async function readLastAnchor(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('evidence_anchors')
    .select((eb) => eb.fn.max('anchor_sequence').as('last'))
    .executeTakeFirst()
  return Number(row?.last ?? 0)
}

/**
 * Returns what this database lacks of the mark, or has with other content: a sequence in the mark must still have the
 * same content, otherwise there are two histories. A mark from before a recovery compares sequences and keys only,
 * because the recovery merged both lists. Empty when the database has reached the mark.
 */
export async function findRollback(
  db: Reader,
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
  // Counts of rows: rows added after the backup are lost, and no recovery restores them.
  if (!isBefore) {
    if (heads.policy_versions < mark.policy_versions) below.push('policy')
    if (heads.revoked_certificates < mark.revoked_certificates) below.push('revoked_certificates')
  }
  const stored = new Set(heads.revoked_operator_keys.map((key) => key.key_id))
  if (mark.revoked_operator_keys.some((key) => !stored.has(key.key_id))) below.push('revoked_operator_keys')
  // A recovery raises every version above those of the lost history. A domain that a later release removed is not
  // compared.
  for (const [name, version] of Object.entries(heads.versions))
    if (version < (mark.versions[name] ?? 0)) below.push(`${name} version`)
  return below
}

/** Entries or anchors that were returned to callers are missing. Their sequences must not be used again. */
async function isEvidenceBelow(db: Reader, heads: Heads, mark: HighWater): Promise<boolean> {
  const { evidence, anchor = null } = mark
  if (isBelow(heads.evidence, evidence) || isBelow(heads.anchor ?? null, anchor)) return true
  return (await isOther(evidence, (n) => findEntry(db, n))) || (await isOther(anchor, (n) => findAnchor(db, n)))
}

function isBelow(head: Head | null, mark: Head | null): boolean {
  return mark !== null && (head === null || head.sequence < mark.sequence)
}

/** False also where the row is missing: retention removes old rows, and rows missing at the end are detected below. */
async function isOther(mark: Head | null, find: (sequence: number) => Promise<string | undefined>): Promise<boolean> {
  if (mark === null) return false
  const digest = await find(mark.sequence)
  return digest !== undefined && digest !== mark.digest
}

async function findList(db: Reader, sequence: number): Promise<string | undefined> {
  const row = await db.selectFrom('crl_versions').selectAll().where('sequence', '=', sequence).executeTakeFirst()
  if (row !== undefined) return digestOfList(row)
  const removed = await db
    .selectFrom('removed_crl_versions')
    .select('digest')
    .where('sequence', '=', sequence)
    .executeTakeFirst()
  return removed?.digest
}

async function findFeed(db: Reader, sequence: number): Promise<string | undefined> {
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

async function findEntry(db: Reader, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('evidence_entries')
    .select('entry_digest')
    .where('store_sequence', '=', sequence)
    .executeTakeFirst()
  return row?.entry_digest
}

async function findAnchor(db: Reader, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('evidence_anchors')
    .select('anchor_json')
    .where('anchor_sequence', '=', sequence)
    .executeTakeFirst()
  return row === undefined ? undefined : digestOfAnchor(row.anchor_json)
}

/** Over the signed content, because a saved copy may have another form. */
function digestOfAnchor(text: string): string {
  try {
    return anchorDigest(readReceived(storeAnchorForm, readJson(text)).record)
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    // The inspection reports a damaged row. Here it only has other content.
    return digestOf(text)
  }
}

export interface LastRecovery {
  readonly position: number
  /** Of a rolled back database. After a recovery of rows the marks are compared as before. */
  readonly at: Instant
  readonly floor: Instant
}

/** The last recovery. A later one never lowers the floor of an earlier one. */
export async function readRecovery(db: Reader): Promise<LastRecovery> {
  const row = await db
    .selectFrom('recoveries')
    .select((eb) => [
      eb.fn.max('position').as('position'),
      eb.fn
        .max(eb.case().when('replay_floor', '>', eb.ref('recovered_at')).then(eb.ref('recovered_at')).end())
        .as('at'),
      eb.fn.max('replay_floor').as('floor'),
    ])
    .executeTakeFirst()
  const instant = (text: string | null | undefined): Instant => readInstant(text ?? '') ?? 0n
  return { position: Number(row?.position ?? 0), at: instant(row?.at), floor: instant(row?.floor) }
}

/** What this database lacks of any mark, each name once. */
export async function findRollbacks(db: Reader, marks: readonly HighWater[]): Promise<readonly string[]> {
  const [heads, { at }] = [await readHeads(db), await readRecovery(db)]
  const missing: string[] = []
  for (const mark of marks) missing.push(...(await findRollback(db, heads, mark, at)))
  return [...new Set(missing)]
}
