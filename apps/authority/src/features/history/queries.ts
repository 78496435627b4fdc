import { type HistoryPlace, type Instant, seconds, writeJson } from '@chancery/protocol'
import { sql } from 'kysely'
import { isRevokedInAudit } from '../../audit/revoked-treaties.ts'
import type { Database, Reader } from '../../database/database.ts'
import { inOrder } from '../../database/list-query.ts'
import { byIssue } from '../../requests/list-position.ts'

/** Rows of one table: of some ids, or the next page in the order of the primary key. */
export type Wanted =
  | { readonly ids: readonly string[] }
  | { readonly after: HistoryPlace | undefined; readonly limit: number }

export interface CertificateRow {
  readonly cert_id: string
  readonly cert_json: string
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly revoke_after: string | null
  /** Of the revocation list. A row that was edited does not change the list. */
  readonly entry_json: string | null
}

export function readCertificates(db: Reader, wanted: Wanted): Promise<readonly CertificateRow[]> {
  let query = db
    .selectFrom('issued_certs as c')
    .leftJoin('crl_entries as e', 'e.cert_id', 'c.cert_id')
    .select(['c.cert_id', 'c.cert_json', 'c.status', 'c.revoked_at', 'c.revocation_reason', 'c.revoke_after'])
    .select('e.entry_json')
    .orderBy('c.cert_id')
  if ('ids' in wanted) return query.where('c.cert_id', 'in', wanted.ids).execute()
  if (wanted.after !== undefined) query = query.where('c.cert_id', '>', wanted.after.id)
  return query.limit(wanted.limit).execute()
}

/** Entries of certificates without a row. */
export async function readEntry(db: Reader, cert_id: string): Promise<string | undefined> {
  const row = await db.selectFrom('crl_entries').select('entry_json').where('cert_id', '=', cert_id).executeTakeFirst()
  return row?.entry_json
}

export interface AttestationRow {
  readonly attestation_id: string
  readonly attestation_json: string
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  /** Of the own feed, which an edited row does not change. */
  readonly published_at: string | null
}

export function readAttestations(db: Reader, wanted: Wanted): Promise<readonly AttestationRow[]> {
  let query = db
    .selectFrom('membership_attestations as a')
    .leftJoin('own_feed_ids as f', 'f.attestation_id', 'a.attestation_id')
    .select(['a.attestation_id', 'a.attestation_json', 'a.status', 'a.revoked_at', 'a.revocation_reason'])
    .select('f.revoked_at as published_at')
    .orderBy('a.attestation_id')
  if ('ids' in wanted) return query.where('a.attestation_id', 'in', wanted.ids).execute()
  if (wanted.after !== undefined) query = query.where('a.attestation_id', '>', wanted.after.id)
  return query.limit(wanted.limit).execute()
}

/** A revoked id without an attestation: a restored database lacks the record. */
export async function isRecovered(db: Reader, attestation_id: string): Promise<boolean> {
  const row = await db
    .selectFrom('recovered_revocations')
    .select('attestation_id')
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
  return row !== undefined
}

export interface TreatyStateRow {
  readonly treaty_id: string
  readonly issued_at: string
  readonly treaty_json: string
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly revoked_in_audit: boolean | number
}

function treaties({ engine, read }: Pick<Database, 'engine' | 'read'>) {
  return read
    .selectFrom('recognition_treaties')
    .select(['treaty_id', 'issued_at', 'treaty_json', 'status', 'revoked_at', 'revocation_reason'])
    .select(isRevokedInAudit(engine).as('revoked_in_audit'))
}

export function readTreaties(
  database: Pick<Database, 'engine' | 'read'>,
  wanted: Wanted,
): Promise<readonly TreatyStateRow[]> {
  let query = treaties(database).orderBy('treaty_id')
  if ('ids' in wanted) return query.where('treaty_id', 'in', wanted.ids).execute()
  if (wanted.after !== undefined) query = query.where('treaty_id', '>', wanted.after.id)
  return query.limit(wanted.limit).execute()
}

/** The next treaties with a partner, newest first. */
export function readTreatiesWith(
  database: Pick<Database, 'engine' | 'read'>,
  wanted: {
    readonly own: string
    readonly subject: string
    readonly after: Pick<TreatyStateRow, 'issued_at' | 'treaty_id'> | undefined
    readonly limit: number
  },
): Promise<readonly TreatyStateRow[]> {
  const { own, subject, after, limit } = wanted
  const order = byIssue('treaty_id').map((column) => ({ ...column, descending: true }) as const)
  const query = treaties(database).where('issuer_sovereign_id', '=', own).where('subject_sovereign_id', '=', subject)
  return inOrder(query, order, { limit, after }).execute()
}

export interface ImportedRow {
  readonly issuer_sovereign_id: string
  readonly attestation_id: string
  readonly sequence: number
  readonly reason: string | null
  readonly imported_at: string
}

export function findImported(db: Reader, issuer: string, attestation_id: string): Promise<ImportedRow | undefined> {
  return imported(db)
    .where('issuer_sovereign_id', '=', issuer)
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
}

export function readImported(
  db: Reader,
  { own, after, limit }: { readonly own: string; readonly after: HistoryPlace | undefined; readonly limit: number },
): Promise<readonly ImportedRow[]> {
  let query = imported(db).where('issuer_sovereign_id', '!=', own)
  if (after !== undefined)
    query = query.where(
      sql<boolean>`(issuer_sovereign_id, attestation_id) > (${after.issuer_sovereign_id}, ${after.id})`,
    )
  return query.orderBy('issuer_sovereign_id').orderBy('attestation_id').limit(limit).execute()
}

/** When an id of a partner's attestation first ended here, whatever the partner says. */
export interface LocalEnds {
  /** The first recognition policy that names it, also if a later one does not. */
  readonly policy_at: string | null
  /** An attestation of the authority has the id. */
  readonly own_issued_at: string | null
}

type PolicyDatabase = Pick<Database, 'engine' | 'read'>

/** The ids of all versions of the recognition policy whose text contains this one. */
function policyIds({ engine }: PolicyDatabase, containing: string) {
  return engine === 'postgres'
    ? sql`(select e.id collate "C" as id, p.created_at from recognition_policies p
        cross join lateral json_array_elements_text(p.policy_json::json -> 'revoked_attestation_ids') as e(id)
        where strpos(p.policy_json, ${containing}) > 0) as ids`
    : sql`(select e.value as id, p.created_at
        from recognition_policies p, json_each(p.policy_json, '$.revoked_attestation_ids') as e
        where instr(p.policy_json, ${containing}) > 0) as ids`
}

export const NO_ENDS: LocalEnds = { policy_at: null, own_issued_at: null }

export async function findLocalEnds(database: PolicyDatabase, attestation_id: string): Promise<LocalEnds> {
  return (await listLocalEnds(database, [attestation_id])).get(attestation_id) ?? NO_ENDS
}

/** The same for several ids. All policy texts are searched once. */
export async function listLocalEnds(
  database: PolicyDatabase,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LocalEnds>> {
  const [first] = ids
  if (first === undefined) return new Map()
  const containing = ids.length === 1 ? writeJson(first) : '"'
  const { rows: named } = await sql<{ readonly id: string; readonly created_at: string }>`
    select id, min(created_at) as created_at from ${policyIds(database, containing)}
    where id in (${sql.join(ids)}) group by id`.execute(database.read)
  const own = await database.read
    .selectFrom('membership_attestations')
    .select(['attestation_id', 'issued_at'])
    .where('attestation_id', 'in', ids)
    .execute()
  const policyAt = new Map(named.map(({ id, created_at }) => [id, created_at]))
  const issuedAt = new Map(own.map(({ attestation_id, issued_at }) => [attestation_id, issued_at]))
  return new Map(
    ids.map((id) => [id, { policy_at: policyAt.get(id) ?? null, own_issued_at: issuedAt.get(id) ?? null }]),
  )
}

/** Ids that recognition policies name, each with its first time, in the order of the ids. */
export async function readPolicyEnds(
  database: PolicyDatabase,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<readonly { readonly id: string; readonly created_at: string }[]> {
  const { rows } = await sql<{ readonly id: string; readonly created_at: string }>`
    select id, min(created_at) as created_at from ${policyIds(database, '"')}
    where id > ${after ?? ''} group by id order by id limit ${limit}`.execute(database.read)
  return rows
}

function imported(db: Reader) {
  return db
    .selectFrom('imported_sovereign_revocations')
    .select(['issuer_sovereign_id', 'attestation_id', 'sequence', 'reason', 'imported_at'])
}

/** The list in force at a time, and the version with a number, if their texts are stored and not too long. */
export async function readLists(
  db: Reader,
  { at, sequence, maxBytes }: { readonly at: string; readonly sequence: number | null; readonly maxBytes: number },
): Promise<readonly string[]> {
  const inForce = await db
    .selectFrom('crl_versions')
    .select('sequence')
    .where('issued_at', '<=', at)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const wanted = [inForce?.sequence, sequence].filter((each) => typeof each === 'number')
  if (wanted.length === 0) return []
  const rows = await db
    .selectFrom('crl_versions')
    .select('crl_json')
    .where('sequence', 'in', wanted)
    .where('bytes', '<=', maxBytes)
    .orderBy('sequence')
    .execute()
  return rows.map(({ crl_json }) => crl_json)
}

/** The own feed in force at a time, if its text is stored and it has few ids. */
export async function readOwnFeeds(db: Reader, at: string, maxIds: number): Promise<readonly string[]> {
  const inForce = await db
    .selectFrom('own_revocation_feeds')
    .select(['sequence', 'ids'])
    .where('issued_at', '<=', at)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (inForce === undefined || inForce.ids === null || inForce.ids > maxIds) return []
  const rows = await db
    .selectFrom('own_revocation_feeds')
    .select('feed_json')
    .where('sequence', '=', inForce.sequence)
    .execute()
  return rows.map(({ feed_json }) => feed_json)
}

/** The stored feeds of a partner that have few ids. Those with a digest have no text any more. */
export async function readPartnerFeeds(db: Reader, issuer: string, maxIds: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('sovereign_revocation_feeds')
    .select('feed_json')
    .where('issuer_sovereign_id', '=', issuer)
    .where('digest', 'is', null)
    .where('revoked_count', '<=', maxIds)
    .orderBy('sequence', 'desc')
    .limit(2)
    .execute()
  return rows.map(({ feed_json }) => feed_json)
}

/** Recoveries after a restore, newest first. */
export function readRecoveries(
  db: Reader,
  limit: number,
): Promise<readonly { readonly recovered_at: string; readonly known_until: string | null }[]> {
  return db
    .selectFrom('recoveries')
    .select(['recovered_at', 'known_until'])
    .orderBy('position', 'desc')
    .limit(limit)
    .execute()
}

/**
 * Changes of the last seconds may still be written, and the clocks of other instances may be slow: each by 30 s at most,
 * and SQLite has one instance. So a statement ends this long before it is signed, and a lost time begins this long
 * before the last change of a backup.
 */
export function unsettledTime({ engine }: Pick<Database, 'engine'>): Instant {
  return engine === 'sqlite' ? seconds(10) : seconds(120)
}
