/** Tables of the public evidence log. */
export interface LogTables {
  evidence_log_tiles: { level: number; tile: number; hashes: Uint8Array }
  evidence_log_checkpoints: { tree_size: number; note: string; signed_at: string }
  /** One row: name and keys of the log, signed by the authority. */
  evidence_log_identity: { id: number; record_json: string }
  /** One row: the last checkpoint that witnesses cosigned. `pending_since`: since when a newer one lacks the quorum. */
  evidence_log_cosigned: {
    id: number
    tree_size: number
    note: string | null
    cosigners: number
    cosigned_at: string | null
    pending_since: string | null
  }
  /** `proof_note`: a checkpoint of this log that contradicts the stored one. */
  evidence_log_witnesses: {
    name: string
    verifier_key: string
    known_size: number
    cosigned_at: string | null
    tried_at: string
    failure: string | null
    alarm: string | null
    alarm_at: string | null
    alarm_size: number | null
    proof_note: string | null
  }
}
