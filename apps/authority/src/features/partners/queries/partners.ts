import { type Instant, type RecognitionTreaty, readInstant, readJson, writeSortable } from '@chancery/protocol'
import type { Selectable } from 'kysely'
import { selectByIds } from '../../../database/batched-read.ts'
import type { Reader, Transaction } from '../../../database/database.ts'
import type { Tables } from '../../../database/tables.ts'

export type PartnerRow = Selectable<Tables['partners']>

export function findPartner(db: Reader, sovereign_id: string): Promise<PartnerRow | undefined> {
  return db.selectFrom('partners').selectAll().where('sovereign_id', '=', sovereign_id).executeTakeFirst()
}

/** How old the feeds of these partners may be, and when they were last read and imported. */
export const READ_FRESHNESS = selectByIds<{
  readonly sovereign_id: string
  readonly max_feed_age_seconds: number | null
  readonly contact_at: string | null
}>(
  'read-partner-freshness',
  (isOneOf) => `select sovereign_id, max_feed_age_seconds,
  case when import_feeds = 1 then last_good_pull_at end as contact_at from partners where sovereign_id ${isOneOf}`,
)

/** Facts of the partners that had another key before. */
export async function listKeyChanges(db: Reader): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('partners')
    .select('stored_json')
    .where('stored_json', 'like', '%"key_changed_at"%')
    .execute()
  return rows.map((row) => row.stored_json)
}

/** By name. */
export function listPartners(
  db: Reader,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<readonly PartnerRow[]> {
  let query = db.selectFrom('partners').selectAll()
  if (page.after !== undefined) query = query.where('sovereign_id', '>', page.after)
  return query.orderBy('sovereign_id').limit(page.limit).execute()
}

export async function insertPartner(tx: Transaction, row: PartnerRow): Promise<void> {
  await tx.query.insertInto('partners').values(row).execute()
}

export async function updatePartner(
  tx: Transaction,
  sovereign_id: string,
  changes: Partial<PartnerRow>,
): Promise<void> {
  await tx.query.updateTable('partners').set(changes).where('sovereign_id', '=', sovereign_id).execute()
}

/** Everything but the sequences, and what was imported. */
export async function deletePartner(tx: Transaction, sovereign_id: string): Promise<void> {
  for (const table of ['partners', 'partner_texts', 'partner_alarms', 'reported_treaties'] as const)
    await tx.query.deleteFrom(table).where('sovereign_id', '=', sovereign_id).execute()
}

/** What was read under another pin says nothing any more. */
export async function deleteMaterial(tx: Transaction, sovereign_id: string): Promise<void> {
  for (const table of ['partner_texts', 'reported_treaties'] as const)
    await tx.query.deleteFrom(table).where('sovereign_id', '=', sovereign_id).execute()
}

/** One statement decides who pulls. A pull that was given up is taken over. */
export async function claimPull(
  tx: Transaction,
  sovereign_id: string,
  claim: { readonly token: string; readonly now: string; readonly until: string; readonly asked_at?: string },
): Promise<PartnerRow | undefined> {
  const { token, now, until, asked_at } = claim
  return tx.query
    .updateTable('partners')
    .set({ pull_token: token, pull_until: until, ...(asked_at === undefined ? {} : { asked_at }) })
    .where('sovereign_id', '=', sovereign_id)
    .where((eb) => eb.or([eb('pull_token', 'is', null), eb('pull_until', '<=', now)]))
    .returningAll()
    .executeTakeFirst()
}

/** `pause`: when a pull that could not be stored is repeated. */
export async function releasePull(
  tx: Transaction,
  sovereign_id: string,
  token: string,
  pause: { readonly failures?: number; readonly next_pull_at?: string },
): Promise<void> {
  await tx.query
    .updateTable('partners')
    .set({ pull_token: null, pull_until: null, ...pause })
    .where('sovereign_id', '=', sovereign_id)
    .where('pull_token', '=', token)
    .execute()
}

/**
 * Whether a pull may import. Locks the row until the import is stored, so that a change of the partner counts for
 * everything that is stored after it.
 */
export async function mayImport(tx: Transaction, sovereign_id: string, token: string): Promise<boolean> {
  const row = await tx.query
    .updateTable('partners')
    .set((eb) => ({ pull_until: eb.ref('pull_until') }))
    .where('sovereign_id', '=', sovereign_id)
    .where('pull_token', '=', token)
    .where('import_feeds', '=', 1)
    .returning('sovereign_id')
    .executeTakeFirst()
  return row !== undefined
}

/** Partners whose next pull is due, the longest waiting first. */
export async function listDue(db: Reader, now: string, limit: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('partners')
    .select('sovereign_id')
    .where('paused', '=', 0)
    .where('next_pull_at', '<=', now)
    .where((eb) => eb.or([eb('pull_token', 'is', null), eb('pull_until', '<=', now)]))
    .orderBy('next_pull_at')
    .limit(limit)
    .execute()
  return rows.map((row) => row.sovereign_id)
}

export async function readSequences(
  db: Reader,
  sovereign_id: string,
  pin_digest: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('partner_sequences')
    .select(['material', 'sequence'])
    .where('sovereign_id', '=', sovereign_id)
    .where('pin_digest', '=', pin_digest)
    .execute()
  return new Map(rows.map((row) => [row.material, Number(row.sequence)]))
}

export async function setSequence(
  tx: Transaction,
  row: { sovereign_id: string; pin_digest: string; material: string; sequence: number },
): Promise<void> {
  await tx.query
    .insertInto('partner_sequences')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['sovereign_id', 'pin_digest', 'material']).doUpdateSet({ sequence: row.sequence }),
    )
    .execute()
}

export async function storeText(
  tx: Transaction,
  row: { sovereign_id: string; material: string; text: string; stored_at: string },
): Promise<void> {
  await tx.query
    .insertInto('partner_texts')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['sovereign_id', 'material']).doUpdateSet({ text: row.text, stored_at: row.stored_at }),
    )
    .execute()
}

export async function deleteText(tx: Transaction, sovereign_id: string, material: string): Promise<void> {
  await tx.query
    .deleteFrom('partner_texts')
    .where('sovereign_id', '=', sovereign_id)
    .where('material', '=', material)
    .execute()
}

export async function findText(db: Reader, sovereign_id: string, material: string): Promise<string | null> {
  const row = await db
    .selectFrom('partner_texts')
    .select('text')
    .where('sovereign_id', '=', sovereign_id)
    .where('material', '=', material)
    .executeTakeFirst()
  return row?.text ?? null
}

export interface OwnTreaty {
  readonly treaty_id: string
  readonly subject_sovereign_id: string
  readonly subject_public_keys: readonly string[]
}

/** Own treaties in force for partners, or for one sovereign. */
export async function listOwnTreaties(
  db: Reader,
  own: string,
  now: Instant,
  subject?: string,
): Promise<readonly OwnTreaty[]> {
  let query = db
    .selectFrom('recognition_treaties')
    .select(['treaty_id', 'subject_sovereign_id', 'valid_from', 'treaty_json'])
    .where('issuer_sovereign_id', '=', own)
    .where('status', '=', 'active')
    .where('expires_at', '>', writeSortable(now))
  query =
    subject === undefined
      ? query.where('subject_sovereign_id', 'in', db.selectFrom('partners').select('sovereign_id'))
      : query.where('subject_sovereign_id', '=', subject)
  const rows = await query.orderBy('treaty_id').execute()
  // The start is stored as signed, so its text is not comparable.
  const begun = rows.filter(({ valid_from }) => (readInstant(valid_from) ?? now) <= now)
  return begun.map(({ treaty_id, subject_sovereign_id, treaty_json }) => {
    const { subject_public_keys } = readJson(treaty_json) as unknown as RecognitionTreaty
    return { treaty_id, subject_sovereign_id, subject_public_keys }
  })
}
