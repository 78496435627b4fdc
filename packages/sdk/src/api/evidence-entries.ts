import type { EvidenceStoreEntry, JsonObject } from '@chancery/protocol'

/** A stored record with its position in the chain (protocol/trust-operations 6.7). */
export type EvidenceEvent = {
  readonly entry: EvidenceStoreEntry
  readonly entry_digest: string
  readonly payload: JsonObject
}

export interface EvidenceFilter {
  readonly vendor_id?: string
  readonly attestation_id?: string
  readonly capability?: string
  readonly resource_id?: string
  readonly outcome?: string
  readonly entry_kind?: string
  readonly decision_id?: string
  readonly since?: string
  readonly until?: string
  readonly after_sequence?: number
  readonly limit?: number
}
