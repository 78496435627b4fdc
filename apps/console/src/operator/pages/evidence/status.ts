import type { Liveness } from '../../parts/bar.tsx'

/** GET /admin/evidence/status */
export interface StoreStatus {
  readonly entries: number
  readonly last_store_sequence: number | null
  readonly rejections: number
  readonly active_executor_keys: number
  readonly retention_checkpoint: number | null
  readonly latest_anchor: {
    readonly anchor_sequence: number
    readonly store_sequence: number
    readonly anchored_at: string
  } | null
  readonly unanchored_entries: number
}

export interface ViewProps {
  readonly query: URLSearchParams
  readonly status: StoreStatus | undefined
  readonly onLive: (live: Liveness) => void
}
