/** Rows that limiters and jobs write for themselves. */
export interface UpkeepTables {
  /** Bytes stored for a key, an operator or a partner on a day; `day` is its first instant. */
  stored_bytes: { day: string; owner: string; bytes: number }
  rate_limit_windows: { bucket: string; window_start: number; hits: number }
  job_leases: { name: string; holder: string; token: number; acquired_at: string; expires_at: string }
  /** Samples of the number of rows, for the growth of a table; `day` is its first instant. */
  table_rows: { table_name: string; day: string; row_count: number }
}
