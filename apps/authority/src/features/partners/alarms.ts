import { writeSortable } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import type { NewAlarm } from './findings.ts'
import { countOpenAlarms, deleteOldAlarms, insertAlarm, isAlarmOpen } from './queries/alarms.ts'
import { findText } from './queries/partners.ts'
import type { PartnersState } from './state.ts'

/** As many as a partner shows. Of treaties not more are stored. */
export const SHOWN_ALARMS = 20

/** Raises alarms that are not open yet. Returns the number of open ones. */
export async function raiseAlarms(
  tx: Transaction,
  parts: PartnersState,
  sovereign_id: string,
  alarms: readonly NewAlarm[],
): Promise<number> {
  for (const alarm of alarms) {
    if (await isAlarmOpen(tx.query, sovereign_id, alarm)) continue
    const { kind, material, sequence } = alarm
    const alarm_id = parts.ids.uuid()
    await insertAlarm(tx, {
      ...alarm,
      alarm_id,
      sovereign_id,
      held_text: alarm.held_text === undefined ? await findText(tx.query, sovereign_id, material) : alarm.held_text,
      raised_at: writeSortable(parts.clock.now()),
      cleared_at: null,
    })
    await parts.audit.record(tx, {
      type: 'partner_alarm_raised',
      details: { sovereign_id, alarm_id, kind, material, sequence },
    })
    parts.log.error('a partner contradicts itself', { alarm: true, sovereign_id, alarm_id, kind, material })
  }
  await deleteOldAlarms(tx, sovereign_id, SHOWN_ALARMS)
  return countOpenAlarms(tx.query, sovereign_id)
}
