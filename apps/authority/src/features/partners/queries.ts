// oxlint-disable max-lines -- all statements of partners
import { readInstant, readJson, writeSortable } from '@chancery/protocol'
import type { Instant, RecognitionTreaty } from '@chancery/protocol'
import type { Selectable } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'

export type PartnerRow = Selectable<Tables['partners']>
export type AlarmRow = Selectable<Tables['partner_alarms']>
type ReportedRow = Selectable<Tables['reported_treaties']>

export function findPartner(db: Reader, sovereign_id: string): Promise<PartnerRow | undefined> {
  return db.selectFrom('partners').selectAll().where('sovereign_id', '=', sovereign_id).executeTakeFirst()
}

export async function findFeedAge(db: Reader, sovereign_id: string): Promise<number | null> {
  const row = await db
    .selectFrom('partners')
    .select('max_feed_age_seconds')
    .where('sovereign_id', '=', sovereign_id)
    .executeTakeFirst()
  return row?.max_feed_age_seconds ?? null
}

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

export async function countPartners(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('partners')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
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

export type ShownAlarm = Omit<AlarmRow, 'held_text' | 'offered_text' | 'sovereign_id'>

const SHOWN_ALARM = [
  'alarm_id',
  'kind',
  'material',
  'sequence',
  'held_digest',
  'offered_digest',
  'raised_at',
  'cleared_at',
] as const

/** The newest ones. Open ones come before cleared ones, so that each can be found and cleared. */
export function listAlarms(db: Reader, sovereign_id: string, limit: number): Promise<readonly ShownAlarm[]> {
  return db
    .selectFrom('partner_alarms')
    .select(SHOWN_ALARM)
    .where('sovereign_id', '=', sovereign_id)
    .orderBy((eb) => eb.case().when('cleared_at', 'is', null).then(0).else(1).end())
    .orderBy('raised_at', 'desc')
    .orderBy('alarm_id', 'desc')
    .limit(limit)
    .execute()
}

export function findAlarm(db: Reader, sovereign_id: string, alarm_id: string): Promise<ShownAlarm | undefined> {
  return db
    .selectFrom('partner_alarms')
    .select(SHOWN_ALARM)
    .where('sovereign_id', '=', sovereign_id)
    .where('alarm_id', '=', alarm_id)
    .executeTakeFirst()
}

/** Treaties have an alarm each, other material one of a kind. */
export async function isAlarmOpen(
  db: Reader,
  sovereign_id: string,
  { kind, material, held_digest }: Pick<AlarmRow, 'kind' | 'material' | 'held_digest'>,
): Promise<boolean> {
  let query = db
    .selectFrom('partner_alarms')
    .select('alarm_id')
    .where('sovereign_id', '=', sovereign_id)
    .where('kind', '=', kind)
    .where('material', '=', material)
    .where('cleared_at', 'is', null)
  if (material === 'treaty') query = query.where('held_digest', '=', held_digest)
  return (await query.executeTakeFirst()) !== undefined
}

export async function insertAlarm(tx: Transaction, row: AlarmRow): Promise<void> {
  await tx.query.insertInto('partner_alarms').values(row).execute()
}

export async function markCleared(tx: Transaction, alarm_id: string, cleared_at: string): Promise<void> {
  await tx.query.updateTable('partner_alarms').set({ cleared_at }).where('alarm_id', '=', alarm_id).execute()
}

export async function countOpenAlarms(db: Reader, sovereign_id: string): Promise<number> {
  const row = await db
    .selectFrom('partner_alarms')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('sovereign_id', '=', sovereign_id)
    .where('cleared_at', 'is', null)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Cleared alarms beyond the newest, and open ones of treaties, which a partner can raise in any number. */
export async function deleteOldAlarms(tx: Transaction, sovereign_id: string, stored: number): Promise<void> {
  const newestFirst = tx.query
    .selectFrom('partner_alarms')
    .select(['alarm_id', 'cleared_at'])
    .where('sovereign_id', '=', sovereign_id)
    .orderBy('raised_at', 'desc')
    .orderBy('alarm_id', 'desc')
    .offset(stored)
    .limit(100)
  const old = (await newestFirst.execute()).filter(({ cleared_at }) => cleared_at !== null)
  const ofTreaties = await newestFirst.where('material', '=', 'treaty').where('cleared_at', 'is', null).execute()
  const alarm_ids = [...old, ...ofTreaties].map(({ alarm_id }) => alarm_id)
  if (alarm_ids.length > 0) await tx.query.deleteFrom('partner_alarms').where('alarm_id', 'in', alarm_ids).execute()
}

export function listReported(
  db: Reader,
  sovereign_id: string,
): Promise<readonly Pick<ReportedRow, 'treaty_id' | 'digest' | 'hidden'>[]> {
  return db
    .selectFrom('reported_treaties')
    .select(['treaty_id', 'digest', 'hidden'])
    .where('sovereign_id', '=', sovereign_id)
    .execute()
}

/** The stored text of each treaty, by id. */
export function listReportedTexts(
  db: Reader,
  sovereign_id: string,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<readonly Pick<ReportedRow, 'treaty_id' | 'treaty_json'>[]> {
  let query = db
    .selectFrom('reported_treaties')
    .select(['treaty_id', 'treaty_json'])
    .where('sovereign_id', '=', sovereign_id)
    .where('hidden', '=', 0)
  if (page.after !== undefined) query = query.where('treaty_id', '>', page.after)
  return query.orderBy('treaty_id').limit(page.limit).execute()
}

export async function countReported(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('reported_treaties')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

const ROWS = 500

export async function insertReported(tx: Transaction, rows: readonly ReportedRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS)
    await tx.query
      .insertInto('reported_treaties')
      .values(rows.slice(at, at + ROWS))
      .execute()
}

export async function deleteReported(
  tx: Transaction,
  sovereign_id: string,
  treaty_ids: readonly string[],
): Promise<void> {
  for (let at = 0; at < treaty_ids.length; at += ROWS)
    await tx.query
      .deleteFrom('reported_treaties')
      .where('sovereign_id', '=', sovereign_id)
      .where('treaty_id', 'in', treaty_ids.slice(at, at + ROWS))
      .execute()
}

export async function hideReported(
  tx: Transaction,
  sovereign_id: string,
  treaty_ids: readonly string[],
): Promise<void> {
  for (let at = 0; at < treaty_ids.length; at += ROWS)
    await tx.query
      .updateTable('reported_treaties')
      .set({ hidden: 1, treaty_json: '' })
      .where('sovereign_id', '=', sovereign_id)
      .where('treaty_id', 'in', treaty_ids.slice(at, at + ROWS))
      .execute()
}

/** Those with one of the digests, or all. */
export async function deleteHidden(
  tx: Transaction,
  sovereign_id: string,
  digests: readonly string[] | 'all',
): Promise<void> {
  let query = tx.query.deleteFrom('reported_treaties').where('sovereign_id', '=', sovereign_id).where('hidden', '=', 1)
  if (digests !== 'all') query = query.where('digest', 'in', digests)
  await query.execute()
}

export async function findReportedText(db: Reader, sovereign_id: string, treaty_id: string): Promise<string | null> {
  const row = await db
    .selectFrom('reported_treaties')
    .select('treaty_json')
    .where('sovereign_id', '=', sovereign_id)
    .where('treaty_id', '=', treaty_id)
    .executeTakeFirst()
  return row?.treaty_json ?? null
}

export async function hasOpenTreatyAlarm(db: Reader, sovereign_id: string): Promise<boolean> {
  const row = await db
    .selectFrom('partner_alarms')
    .select('alarm_id')
    .where('sovereign_id', '=', sovereign_id)
    .where('material', '=', 'treaty')
    .where('cleared_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
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
