import type { ApprovalStatus, NodeDecision } from '@chancery/contract'
import { type Instant, instantOf } from '@chancery/protocol'
import { RequestError, isUnavailable } from '../errors.ts'
import { sleep } from '../http/retry.ts'
import type { NodeAreas } from './areas.ts'

/** An answer of {@link Node.ask}. Held: a person must approve first, and nothing may be done yet. */
export type NodeAnswer = NodeDecision &
  (
    | { readonly held: false }
    | {
        readonly held: true
        /** For {@link Node.waitForApproval}, and for the same question once more. */
        readonly approvalId: string
        readonly expiresAt: string
      }
  )

/** Whether the decision waits for a person. */
export function toAnswer(response: NodeDecision): NodeAnswer {
  const { approval, decision } = response
  const isOpen = approval?.state === 'pending' || approval?.state === 'approved'
  if (decision.authorized || approval === undefined || !isOpen) return { ...response, held: false }
  return { ...response, held: true, approvalId: approval.approval_id, expiresAt: approval.expires_at }
}

export interface WaitOptions {
  /** After this time the last state is returned, also while it is pending. Without it until the approval ends. */
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
}

const LONGEST_POLL_SECONDS = 60

/**
 * Asks for the state until a person has decided, the approval ends or the time is over. An authority that cannot be
 * reached is asked again.
 */
export async function waitForApproval(
  { approvals }: Pick<NodeAreas, 'approvals'>,
  approvalId: string,
  { waitSeconds, signal }: WaitOptions,
  clock: () => Instant,
): Promise<ApprovalStatus> {
  if (waitSeconds !== undefined && !(waitSeconds >= 0)) throw new RequestError('waitSeconds must be 0 or more')
  const endMs = waitSeconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + waitSeconds * 1000
  const options = signal === undefined ? {} : { signal }
  let last: ApprovalStatus | undefined
  for (;;) {
    try {
      last = await approvals.status(approvalId, options)
    } catch (error) {
      if (!isUnavailable(error) || performance.now() >= endMs) throw error
    }
    if (last !== undefined && last.state !== 'pending') return last
    const restMs = endMs - performance.now()
    if (last !== undefined && (restMs <= 0 || clock() > instantOf(last.expires_at))) return last
    const pollSeconds = Math.min(Math.max(last?.poll_after_seconds ?? 1, 1), LONGEST_POLL_SECONDS)
    await sleep(Math.max(Math.min(pollSeconds * 1000, restMs), 0), signal)
  }
}
