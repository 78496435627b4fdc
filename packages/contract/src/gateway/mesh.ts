/** GET /v1/mesh, as the gateway writes it and the explorer draws it (protocol/gateway 14.1). */
export type Mesh = {
  readonly observed_at: string
  readonly refresh_seconds: number
  /** Present while the gateway fetches again and shows the previous view. */
  readonly stale?: boolean
  readonly networks: readonly MeshNetwork[]
  readonly links: readonly MeshLink[]
  readonly members: readonly MeshMember[]
  readonly synchronization: readonly MeshSynchronization[]
  readonly network_limit: number
  readonly member_limit_per_network: number
  readonly link_limit_per_network: number
}

export type MeshNetwork = {
  readonly id: string
  readonly available: boolean
  readonly trust_ready: boolean
  readonly crl_sequence: number
  readonly source_feed: MeshFeed | null
  readonly imports_available: boolean
  readonly imports: readonly MeshImport[]
  /** Members that are published, also those beyond the limit of this document. */
  readonly member_count: number
  /** Not all of them, or of its treaties, could be read. */
  readonly members_truncated: boolean
  readonly links_truncated: boolean
}

export type MeshFeed = { readonly sequence: number; readonly issued_at: string; readonly signature_verified: true }

export type MeshImport = { readonly issuer: string; readonly sequence: number; readonly imported_at: string }

/** An active treaty: `from` recognises members of `to`. */
export type MeshLink = {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly roles: readonly string[]
  readonly issued_at: string
  readonly expires_at: string
}

export type MeshMember = {
  readonly id: string
  readonly network: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly issued_at: string
  readonly expires_at: string
  readonly demo: boolean
}

/** One row per linked pair. The status compares two numbers; it proves nothing about what the consumer enforces. */
export type MeshSynchronization = {
  readonly consumer: string
  readonly publisher: string
  readonly status: MeshStatus
  readonly published_sequence: number | null
  readonly imported_sequence: number | null
  readonly last_imported_at: string | null
}

export type MeshStatus =
  | 'consumer_unavailable'
  | 'source_unverified'
  | 'not_imported'
  | 'current'
  | 'behind'
  | 'source_rollback'
