import { readInstant } from '@chancery/protocol'
import type { ConsensusParts } from './parts.ts'

/** Keys with which this authority verifies a record of another sovereign, by their source. */
export interface AcceptedKeys {
  /** Of treaties in force. */
  readonly recognized: readonly string[]
  /** Of a registered partner, for the date of the record. */
  readonly pinned: readonly string[]
}

/** `date` is that of the record to verify. */
export async function acceptedKeysOf(parts: ConsensusParts, sovereign_id: string, date: string): Promise<AcceptedKeys> {
  const [{ keys }, pinned] = await Promise.all([
    parts.recognitionTreaties.findPartyKeys(sovereign_id),
    parts.partners.acceptedKeys(sovereign_id, readInstant(date) ?? 0n),
  ])
  return { recognized: keys, pinned }
}
