import type { Instant } from '@chancery/protocol'
import { type Pin, acceptedKeys, keysAt } from './pin.ts'
import { findPartner } from './queries/partners.ts'
import type { PartnersState } from './state.ts'
import { readFacts } from './stored-facts.ts'

/** Keys that may sign a record of this date. Without pulls nothing shows that a key still counts. */
export async function findAcceptedKeys(
  { database, settings }: PartnersState,
  sovereign_id: string,
  date: Instant,
): Promise<readonly string[]> {
  if (!settings.partners) return []
  const row = await findPartner(database.read, sovereign_id)
  if (row === undefined) return []
  return keysAt(acceptedKeys(JSON.parse(row.pin_json) as Pin, readFacts(row.stored_json)), date)
}
