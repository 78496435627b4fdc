import type { ApprovalRequest, Approvers } from '../artifacts/approval-request.ts'
import type { ApprovalState } from '../artifacts/approval-entry.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'

/** Who signed a statement, as far as requirements ask for it. */
export type ApprovalSigner = {
  /** The key id of an operator, otherwise the id of the attestation. */
  readonly id: string
  readonly public_key: string
} & (
  | { readonly kind: 'operator'; readonly tier: 'standard' | 'privileged' }
  | {
      readonly kind: 'member' | 'partner'
      readonly sovereign_id: string
      readonly subject_id: string
      readonly roles: readonly string[]
    }
)

type Parties = Pick<ApprovalRequest, 'requester_sovereign_id' | 'issuer_sovereign_id' | 'subject_id' | 'asker'>

/** Whether a signer counts for one requirement. */
export function meetsRequirement(
  approvers: Approvers,
  signer: ApprovalSigner,
  { requester_sovereign_id }: Pick<Parties, 'requester_sovereign_id'>,
): boolean {
  switch (approvers.kind) {
    case 'operators': {
      if (signer.kind !== 'operator') return false
      const isOfTier = approvers.tier === 'standard' || signer.tier === 'privileged'
      return isOfTier && (approvers.key_ids.length === 0 || approvers.key_ids.includes(signer.id))
    }
    case 'members':
      return signer.kind === 'member' && signer.roles.includes(approvers.role)
    case 'partner':
      return (
        signer.kind === 'partner' &&
        signer.sovereign_id === requester_sovereign_id &&
        signer.roles.includes(approvers.role)
      )
  }
}

type Required = Pick<ApprovalRequest, 'requirements' | 'requester_sovereign_id'>

export function meetsAny({ requirements, ...request }: Required, signer: ApprovalSigner): boolean {
  return requirements.some(({ approvers }) => approvers.some((each) => meetsRequirement(each, signer, request)))
}

/** One line of what is needed, and how many signers it has. */
export interface ApprovalNeed {
  readonly policy_id: string
  readonly gate_id: string
  readonly kind: Approvers['kind']
  readonly count: number
  readonly given: number
}

/** One statement counts for every requirement that its signer meets. The signers differ from each other. */
export function listNeeds(
  { requirements, ...request }: Required,
  signers: readonly ApprovalSigner[],
): readonly ApprovalNeed[] {
  return requirements.flatMap(({ policy_id, gate_id, approvers }) =>
    approvers.map((each) => {
      const found = signers.filter((signer) => meetsRequirement(each, signer, request)).length
      return { policy_id, gate_id, kind: each.kind, count: each.count, given: Math.min(found, each.count) }
    }),
  )
}

export function areMet(needs: readonly ApprovalNeed[]): boolean {
  return needs.every(({ count, given }) => given >= count)
}

/**
 * Who asked, and whom the request is about, approve nothing of it.
 * @param keys the public keys of the asker and of the subject
 */
export function isExcluded(parties: Parties, keys: readonly string[], signer: ApprovalSigner): boolean {
  const { asker, issuer_sovereign_id, subject_id } = parties
  if (keys.includes(signer.public_key)) return true
  if (signer.kind === 'operator') return asker.kind === 'operator' && asker.id === signer.id
  return signer.sovereign_id === issuer_sovereign_id && signer.subject_id === subject_id
}

/** Two statements count as two only when nothing of their signers is the same. */
export function isSameSigner(a: ApprovalSigner, b: ApprovalSigner): boolean {
  if (a.id === b.id || a.public_key === b.public_key) return true
  if (a.kind === 'operator' || b.kind === 'operator') return false
  return a.sovereign_id === b.sovereign_id && a.subject_id === b.subject_id
}

/** What decides the state of an approval at a time. */
export interface ApprovalTimes {
  readonly state: ApprovalState
  readonly expires_at: string
  readonly use_until: string | null
}

/** The time decides, not the job that writes it down: past its end an approval counts as expired. */
export function approvalStateAt({ state, expires_at, use_until }: ApprovalTimes, now: Instant): ApprovalState {
  const end = state === 'pending' ? expires_at : state === 'approved' ? use_until : null
  return end !== null && now >= instantOf(end) ? 'expired' : state
}

export function isOpenState(state: ApprovalState): boolean {
  return state === 'pending' || state === 'approved'
}
