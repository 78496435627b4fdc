/** Rows that limiters, jobs and repeated calls write for themselves, and what the instances of a network share. */
export interface UpkeepTables {
  idempotency_keys: {
    scope: string
    idempotency_key: string
    body_digest: string
    /** Null for answers that hold a secret. */
    answer_json: string | null
    /** An answer without its context, which the entry `answer_sequence` of the evidence store has. */
    answer_rest: string | null
    answer_sequence: number | null
    status: number
    expires_at: string
  }
  /** Bytes stored for a key, an operator or a partner on a day; `day` is its first instant. */
  stored_bytes: { day: string; owner: string; bytes: number }
  rate_limit_windows: { bucket: string; window_start: number; hits: number }
  job_leases: { name: string; holder: string; token: number; acquired_at: string; expires_at: string }
  /** Samples of the number of rows, for the growth of a table; `day` is its first instant. */
  table_rows: { table_name: string; day: string; row_count: number }
  /** `next_block`: the digest of the announced block whose key the instance has. `switch_stage`: where it waits. */
  instances: {
    instance: string
    operator_digest: string
    seen_at: string
    next_block: string | null
    switch_stage: string | null
  }
  /** The last three are null before the first switch of the key. */
  authority_identity: {
    id: number
    network_name: string
    public_key: string
    created_at: string
    key_id: string | null
    genesis_json: string | null
    history_json: string | null
  }
}
