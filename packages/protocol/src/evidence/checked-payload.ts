import type { ApprovalEntry } from '../artifacts/approval-entry.ts'
import type { Approvers } from '../artifacts/approval-request.ts'
import type { ExecutionEvidence } from '../artifacts/execution-evidence.ts'
import type { SignerKeys } from '../artifacts/followed-keys.ts'
import type { RetentionCheckpoint } from '../artifacts/retention-checkpoint.ts'
import type { Received } from '../signing/received.ts'
import type { StoredDecision } from './chain-state.ts'
import type { StoreFinding } from './report.ts'

/** Keys that verify stored records. Retired executor keys still verify what they signed. */
export interface StoreKeys {
  readonly authority: SignerKeys
  executor(key_id: string): { readonly public_key: string; readonly executor_sovereign_id: string } | undefined
}

export type Problem = Omit<StoreFinding, 'store_sequence'>

/** A signed record, the text its signatures cover, and the keys that may have made them. */
export interface SignedPart {
  readonly received: Received<unknown>
  readonly text: string
  readonly keys: readonly string[]
}

/** What a payload turned out to be; each problem is named, none stops the others. */
export interface CheckedPayload {
  readonly problems: readonly Problem[]
  readonly warnings: readonly string[]
  /** Absent where the form is already broken. */
  readonly signed?: SignedPart
  readonly decision?: StoredDecision
  readonly isRejection?: true
  /** The decision a justification or a rejection is about; its envelope must repeat that decision's. */
  readonly explains?: string
  readonly execution?: CheckedExecution
  readonly checkpoint?: RemovedPart
  readonly approval?: CheckedApproval
}

/** Of an execution, what other entries are held against; `digest` is how the next one names it. */
export interface CheckedExecution extends Pick<
  ExecutionEvidence,
  | 'decision_id'
  | 'sequence_no'
  | 'prev_evidence_digest'
  | 'executed_at'
  | 'executed_capability'
  | 'resource_id'
  | 'resource_sequence'
  | 'prev_resource_digest'
> {
  readonly digest: string
}

export type RemovedPart = Pick<RetentionCheckpoint, 'removed_through_sequence' | 'last_removed_entry_digest'>

/** What the events of one approval are held against. */
export interface CheckedApproval extends Pick<ApprovalEntry, 'approval_id' | 'event' | 'at' | 'decision_id'> {
  /** Of `requested`. */
  readonly opened?: {
    readonly digest: string
    readonly requirements: readonly Approvers[]
    readonly expires_at: string
  }
  /** Of events with a statement. */
  readonly stated?: {
    readonly digest: string
    readonly verdict: 'approve' | 'deny'
    readonly kind: 'operator' | 'member' | 'partner'
    readonly id: string
    readonly public_key: string
  }
  readonly use_until: string | null
}
