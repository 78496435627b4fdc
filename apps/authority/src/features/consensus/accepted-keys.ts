import type { ConsensusParts } from './parts.ts'

/** Keys with which this authority verifies a record of another sovereign, by their source. */
export interface AcceptedKeys {
  /** Of treaties in force. */
  readonly recognized: readonly string[]
  /** Of a registered partner, for the date of the record. */
  readonly pinned: readonly string[]
}

export async function acceptedKeysOf(parts: ConsensusParts, sovereign_id: string): Promise<AcceptedKeys> {
  const { keys } = await parts.recognitionTreaties.findPartyKeys(sovereign_id)
  return { recognized: keys, pinned: [] }
}
