import type { ColumnType } from 'kysely'

/** Tables of heartbeats. */
export interface LivenessTables {
  node_liveness: {
    cert_id: string
    /** Copied, too: a node counts once, however many certificates it holds. Null from a release before. */
    node_public_key: string | null
    last_heartbeat: string
    heartbeat_status: string
    remote_addr: string
    /** Copied from the certificate, so that counting active nodes reads one narrow table. */
    revoke_after: string | null
    /** Of the genesis block the node holds; null when it did not say. */
    genesis_digest: string | null
    /** The last heartbeat of a node that is silent, in a large network; see features/roster. */
    silent_since: ColumnType<string | null, string | null | undefined, string | null>
    /** Signed time of the last heartbeat in microseconds. Null unless heartbeats are gathered. */
    signed_at: ColumnType<number | null, number | null | undefined, number | null>
  }
  /** Added up over all rows, and keys that may have several of them; see database/liveness-counts.ts. */
  node_liveness_counts: { id: string; live: number }
  node_liveness_twins: { node_public_key: string }
  /** Heartbeat intervals that nodes were asked for, and until when a node may still follow them. */
  heartbeat_paces: { seconds: number; until: string }
}
