import { isJsonObject } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'
import { pages, parse } from './inspection-notes.ts'
import type { InspectionNotes } from './inspection-notes.ts'

const PAGE = 500

/** Attestations, treaties and what was imported from others: signed, each under its own id, no withdrawal by half. */
export async function inspectSovereign(db: Tx, notes: InspectionNotes): Promise<void> {
  await inspectAttestations(db, notes)
  await inspectTreaties(db, notes)
  await inspectImports(db, notes)
}

/** A column that says something else than its record would show, find or withdraw another one. */
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

interface Withdrawal {
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

function checkWithdrawal(notes: InspectionNotes, name: string, row: Withdrawal): void {
  const isRevoked = row.status === 'revoked'
  const isWhole = isRevoked === (row.revoked_at !== null) && isRevoked === (row.revocation_reason !== null)
  if (!isWhole || !['active', 'revoked'].includes(row.status)) notes.problem(`${name}: withdrawn by half`)
}

async function inspectAttestations(db: Tx, notes: InspectionNotes): Promise<void> {
  const feed = await db
    .selectFrom('own_revocation_feeds')
    .select('feed_json')
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const ids = parse(feed?.feed_json ?? '')?.['revoked_attestation_ids']
  const told = new Set(Array.isArray(ids) ? ids : [])
  const recovered = await db.selectFrom('recovered_revocations').select('attestation_id').execute()
  const withdrawn = new Set(recovered.map((row) => row.attestation_id))
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
    checkWithdrawal(notes, name, row)
    if (row.status !== 'revoked') continue
    withdrawn.add(row.attestation_id)
    if (feed !== undefined && !told.has(row.attestation_id)) notes.problem(`${name}: withdrawn, but not in the feed`)
  }
  for (const id of told)
    if (!withdrawn.has(String(id))) notes.problem(`feed: names attestation ${String(id)}, which is not withdrawn here`)
}

async function inspectTreaties(db: Tx, notes: InspectionNotes): Promise<void> {
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
    checkWithdrawal(notes, name, row)
  }
}

/** Signed by others, under keys that may have changed since: looked at for content. What was imported stays revoked. */
async function inspectImports(db: Tx, notes: InspectionNotes): Promise<void> {
  const found = await db.selectFrom('sovereign_revocation_feeds').select(['issuer_sovereign_id', 'sequence']).execute()
  for (const { issuer_sovereign_id, sequence } of found) {
    notes.saw('imported feed')
    const name = `imported feed ${issuer_sovereign_id} ${sequence}`
    const row = await db
      .selectFrom('sovereign_revocation_feeds')
      .select(['feed_id', 'feed_json'])
      .where('issuer_sovereign_id', '=', issuer_sovereign_id)
      .where('sequence', '=', sequence)
      .executeTakeFirst()
    const record = parse(row?.feed_json ?? '')
    if (row === undefined || !isJsonObject(record)) {
      notes.problem(`${name}: is not a record`)
      continue
    }
    checkColumns(notes, name, record, { issuer_sovereign_id, feed_id: row.feed_id })
    if (record['sequence'] !== sequence) notes.problem(`${name}: says another number`)
    const ids = record['revoked_attestation_ids']
    const kept = await db
      .selectFrom('imported_sovereign_revocations')
      .select('attestation_id')
      .where('issuer_sovereign_id', '=', issuer_sovereign_id)
      .execute()
    const held = new Set<unknown>(kept.map((each) => each.attestation_id))
    for (const id of Array.isArray(ids) ? ids : [])
      if (!held.has(id)) notes.problem(`${name}: its revocation of ${String(id)} is not kept`)
  }
}
