import type { Selectable } from 'kysely'
import type { Reader, Transaction } from '../../../database/database.ts'
import { countOf } from '../../../database/large-tables.ts'
import type { Tables } from '../../../database/tables.ts'

export type AlarmRow = Selectable<Tables['partner_alarms']>
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

export function countOpenAlarms(db: Reader, sovereign_id: string): Promise<number> {
  return countOf(
    db.selectFrom('partner_alarms').where('sovereign_id', '=', sovereign_id).where('cleared_at', 'is', null),
  )
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
