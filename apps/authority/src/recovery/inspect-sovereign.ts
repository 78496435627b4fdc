import { type Instant, type JsonObject, MAX_FEED_IDS, isJsonObject, readInstant } from '@chancery/protocol'
import type { Reader } from '../database/database.ts'
import { type InspectionNotes, pages, parse } from './manifest.ts'

/**
 * Returns whether a version of the own feed may lack a revoked attestation: it had ended by then, or the plain form was
 * full of newer ones and the parts have it. An id that is in no part of the feed is missing.
 */
export async function mayLeaveOut(
  db: Reader,
  attestation_id: string,
  version: { readonly at: Instant; readonly ids: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('own_feed_ids')
    .select('ends_at')
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
  if (row === undefined) return false
  return version.ids >= MAX_FEED_IDS || (readInstant(row.ends_at) ?? version.at) < version.at
}

const PAGE = 500

/** Verifies attestations, treaties and imported feeds: signatures, ids, and complete revocations. */
export async function inspectSovereign(db: Reader, notes: InspectionNotes): Promise<void> {
  await inspectAttestations(db, notes)
  await inspectTreaties(db, notes)
  await inspectImports(db, notes)
}

/** A column that differs from its record would show, find or revoke another record. */
function checkColumns(
  notes: InspectionNotes,
  name: string,
  record: JsonObject | undefined,
  columns: Readonly<Record<string, string>>,
): void {
  if (record === undefined) return
  for (const [column, value] of Object.entries(columns))
    if (record[column] !== value) notes.problem(`${name}: its ${column} is another`)
}

interface RevocationColumns {
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

function checkRevocation(notes: InspectionNotes, name: string, row: RevocationColumns): void {
  const isRevoked = row.status === 'revoked'
  const isWhole = isRevoked === (row.revoked_at !== null) && isRevoked === (row.revocation_reason !== null)
  if (!isWhole || !['active', 'revoked'].includes(row.status)) notes.problem(`${name}: withdrawn by half`)
}

async function inspectAttestations(db: Reader, notes: InspectionNotes): Promise<void> {
  const feed = await db
    .selectFrom('own_revocation_feeds')
    .select(['feed_json', 'issued_at', 'index_json'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const ids = parse(feed?.feed_json ?? '')?.['revoked_attestation_ids']
  const reported = new Set(Array.isArray(ids) ? ids : [])
  const recovered = await db.selectFrom('recovered_revocations').select('attestation_id').execute()
  const revokedRows = new Set(recovered.map((row) => row.attestation_id))
  const page = (after: string) =>
    db
      .selectFrom('membership_attestations')
      .selectAll()
      .where('attestation_id', '>', after)
      .orderBy('attestation_id')
      .limit(PAGE)
      .execute()
  for await (const row of pages('', page, (each) => each.attestation_id)) {
    const name = `attestation ${row.attestation_id}`
    const record = await notes.ownRecord('attestation', row.attestation_id, row.attestation_json)
    const { attestation_id, issuer_sovereign_id, subject_id } = row
    checkColumns(notes, name, record, { attestation_id, issuer_sovereign_id, subject_id })
    checkRevocation(notes, name, row)
    if (row.status !== 'revoked') continue
    revokedRows.add(row.attestation_id)
    if (feed === undefined || reported.has(row.attestation_id)) continue
    // A full feed of a release without parts: the next version includes the others.
    if (feed.index_json === null && reported.size >= MAX_FEED_IDS) continue
    const version = { at: readInstant(feed.issued_at) ?? 0n, ids: reported.size }
    if (!(await mayLeaveOut(db, row.attestation_id, version))) notes.problem(`${name}: withdrawn, but not in the feed`)
  }
  for (const id of reported)
    if (!revokedRows.has(String(id)))
      notes.problem(`feed: names attestation ${String(id)}, which is not withdrawn here`)
}

/** Treaties that are revoked in the audit log. */
async function readRevokedTreaties(db: Reader): Promise<ReadonlySet<unknown>> {
  const page = (after: string) =>
    db
      .selectFrom('audit_events')
      .select(['event_id', 'event_json'])
      .where('event_type', '=', 'recognition_treaty_revoked')
      .where('event_id', '>', after)
      .orderBy('event_id')
      .limit(PAGE)
      .execute()
  const revoked = new Set<unknown>()
  for await (const { event_json } of pages('', page, (each) => each.event_id)) {
    const details = parse(event_json)?.['details']
    if (isJsonObject(details)) revoked.add(details['treaty_id'])
  }
  return revoked
}

async function inspectTreaties(db: Reader, notes: InspectionNotes): Promise<void> {
  const revoked = await readRevokedTreaties(db)
  const page = (after: string) =>
    db
      .selectFrom('recognition_treaties')
      .selectAll()
      .where('treaty_id', '>', after)
      .orderBy('treaty_id')
      .limit(PAGE)
      .execute()
  for await (const row of pages('', page, (each) => each.treaty_id)) {
    const name = `treaty ${row.treaty_id}`
    const record = await notes.ownRecord('treaty', row.treaty_id, row.treaty_json)
    const { treaty_id, issuer_sovereign_id, subject_sovereign_id } = row
    checkColumns(notes, name, record, { treaty_id, issuer_sovereign_id, subject_sovereign_id })
    checkRevocation(notes, name, row)
    if (row.status !== 'revoked' && revoked.has(treaty_id)) notes.problem(`${name}: active, but revoked in the audit`)
  }
}

/**
 * Signed by others, with keys that may have changed since, so only the content is checked. Imported ids stay revoked.
 */
async function inspectImports(db: Reader, notes: InspectionNotes): Promise<void> {
  const found = await db.selectFrom('sovereign_revocation_feeds').select(['issuer_sovereign_id', 'sequence']).execute()
  for (const { issuer_sovereign_id, sequence } of found) {
    notes.saw('imported feed')
    const name = `imported feed ${issuer_sovereign_id} ${sequence}`
    const row = await db
      .selectFrom('sovereign_revocation_feeds')
      .select(['feed_id', 'feed_json', 'digest'])
      .where('issuer_sovereign_id', '=', issuer_sovereign_id)
      .where('sequence', '=', sequence)
      .executeTakeFirst()
    // Only a digest of older feeds is stored.
    if (row?.feed_json === '' && row.digest !== null) continue
    const record = parse(row?.feed_json ?? '')
    if (row === undefined || !isJsonObject(record)) {
      notes.problem(`${name}: is not a record`)
      continue
    }
    const named = 'index_id' in record ? { index_id: row.feed_id } : { feed_id: row.feed_id }
    checkColumns(notes, name, record, { issuer_sovereign_id, ...named })
    if (record['sequence'] !== sequence) notes.problem(`${name}: says another number`)
    const ids = record['revoked_attestation_ids']
    const storedIds = await db
      .selectFrom('imported_sovereign_revocations')
      .select('attestation_id')
      .where('issuer_sovereign_id', '=', issuer_sovereign_id)
      .execute()
    const stored = new Set<unknown>(storedIds.map((each) => each.attestation_id))
    for (const id of Array.isArray(ids) ? ids : [])
      if (!stored.has(id)) notes.problem(`${name}: its revocation of ${String(id)} is not stored`)
  }
}
