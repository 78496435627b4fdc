import type { ApprovalCause, ApprovalState } from '@chancery/protocol'
import type { ColumnType } from 'kysely'

/** Joins by the word of other platforms. */
export interface AdmissionTables {
  /** `rule_json` of a removed rule has no signature, so the row cannot be used again. */
  admission_rules: {
    rule_id: string
    rule_json: string
    status: 'active' | 'removed'
    joins: number
    created_at: string
    created_by: string
    removed_at: string | null
    removed_by: string | null
    removal_reason: string | null
  }
  /** Evidence until it expires: its first use binds it to a node key. */
  used_evidence: { evidence_key: string; node_public_key: string; uses: number; expires_at: string }
  /** Certificates that were issued by a rule; they are renewed by it only. */
  admitted_certs: { cert_id: string; rule_id: string; expires_at: string }
  /** Certificates of nodes that a restored database lacks. They grant nothing until an operator adopts them. */
  presented_certs: {
    cert_id: string
    node_public_key: string
    cert_json: string
    presented_at: string
    expires_at: string
    /** The address that presented it, as limits count it. */
    source: string
  }
}

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

/** What the evidence store indexes and counts of its decisions. The stored lines stay the only evidence. */
export interface DecisionTables {
  /** One row for each decision entry; `failed_gate` is the first gate that did not pass. */
  decision_facts: { store_sequence: number; requester_sovereign_id: string; failed_gate: string | null }
  /** Decisions of an hour, once in total, once under their capability and once under each applied policy. */
  decision_hours: { hour: string; split: string; name: string; outcome: string; decisions: number }
  /**
   * One row: every decision up to `described_through` has its facts. Entries up to `present_through` are older than
   * these tables.
   */
  decision_facts_head: { id: number; described_through: number; present_through: number }
}

/** Requests that wait for a person. */
interface ApprovalTables {
  approvals: {
    approval_id: string
    /** Of the request and of who asked. One row with it is open at most. */
    request_digest: string
    /** `node:` and a public key, or `operator:` and a key id. */
    asker: string
    /** Issuer and subject of the attestation, as JSON; null for an agreement. */
    subject: string | null
    /** Public keys of the asker and of the subject, as JSON: they approve nothing. */
    excluded_keys: string
    /** As it was last written. Past its end an open approval counts as expired. */
    state: ApprovalState
    opened_at: string
    expires_at: string
    use_seconds: number
    use_until: string | null
    ended_at: string | null
    cause: ApprovalCause | null
    decision_id: string
    used_by_decision_id: string | null
    /** What the envelopes of its entries repeat of the held decision. */
    parties_json: string
    request_json: string
    /** Of the signed request, as statements name it. */
    record_digest: string
    history_json: string
  }
  approval_statements: {
    statement_id: string
    approval_id: string
    position: number
    verdict: 'approve' | 'deny'
    signer_json: string
    /** Of a member of a partner, as it was presented. */
    attestation_json: string | null
    statement_json: string
    statement_digest: string
  }
  /** When a gate that asks for the first use was last approved for a subject, by the digest of both. */
  approval_uses: { use_key: string; used_at: string }
  /** Events for the webhook that were not delivered yet. */
  approval_notices: {
    event_id: string
    approval_id: string
    position: number
    event: string
    body_json: string
    created_at: string
    attempts: number
    next_at: string
  }
}

/** Counters of budgets, derived from the entries of the evidence store. Amounts are whole numbers of their unit, as text. */
interface BudgetTables {
  /** One row for each counter that has an open window. `identity_json`: C of what its key is the digest of, less the source. */
  budgets: {
    budget_key: string
    source: string
    /** Who used it first. */
    requester: string
    identity_json: string
    counts: string
    /** As of the last decision that used it. */
    last_limit: string
    open_until: string
    /** Until when it counts as used above its limit; null: it was not. */
    overrun_until: string | null
  }
  /** What was used for good in a slot of a window. `reported`: 1 after the event about the warning, 2 after the last one. */
  budget_sums: { budget_key: string; slot: number; amount: string; reported: number; kept_until: string }
  /** One row for each step that counted. `state` is counted, open or released; an open amount counts through `live_until`. */
  budget_uses: {
    budget_key: string
    store_sequence: number
    decision_id: string
    slot: number
    asked: string
    state: string
    live_until: string | null
    valid_until: string
    settle_json: string | null
    approval_id: string | null
    kept_until: string
  }
}

export type LimitTables = ApprovalTables & BudgetTables
