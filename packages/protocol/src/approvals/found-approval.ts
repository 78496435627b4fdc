import type { ApprovalState } from '../artifacts/approval-entry.ts'

/** What was found about the approval of a request, for all of its gates together. */
export interface FoundApproval {
  readonly outcome:
    | 'required'
    | 'approved'
    | 'denied'
    | 'expired'
    | 'cancelled'
    | 'used'
    | 'stale'
    | 'mismatch'
    | 'limit'
  /** What a proof shows. The state is that after the decision. */
  readonly shown: ShownApproval
}

export interface ShownApproval {
  readonly approval_id: string | null
  readonly state: ApprovalState | null
  readonly request_digest: string | null
  readonly approval_request_digest: string | null
  readonly expires_at: string | null
  readonly use_until: string | null
  readonly statements: readonly ShownStatement[]
}

export type ShownStatement = {
  readonly statement_id: string
  readonly statement_digest: string
  readonly kind: string
  readonly id: string
  readonly sovereign_id: string
}

/** What gates that ask a person know besides the request. */
export interface ApprovalFacts {
  /** When a gate that asks for the first use was last approved, by what {@link ApprovalRule.useKey} gives. */
  readonly uses: ReadonlyMap<string, string>
  /** Undefined: no approval is looked for, because another gate denies or none was opened yet. */
  readonly found: FoundApproval | undefined
  /** Of a recorded decision: whether a gate asked, by its name. First uses of that time are not known. */
  readonly recorded?: ReadonlyMap<string, boolean>
}

/** No approval, or none that is known. */
export const NO_APPROVAL: ShownApproval = {
  approval_id: null,
  state: null,
  request_digest: null,
  approval_request_digest: null,
  expires_at: null,
  use_until: null,
  statements: [],
}
