import type { ApprovalStatus } from '@chancery/contract'
import { type Instant, instantOf } from '@chancery/protocol'
import { UsageError, isUnavailable } from '../errors.ts'
import { sleep } from '../http/retry.ts'
import type { Answer } from './answer.ts'
import type { ApprovalCalls } from './areas.ts'
import type { AskOptions } from './decider.ts'

/** What a node does when a person must approve first. */
export interface HeldOptions {
  /** `wait`: wait, and ask again with the approval. Otherwise the held answer is returned. */
  readonly approval?: 'return' | 'wait'
  /** With `wait`: for at most this time; without it until the approval ends. */
  readonly waitSeconds?: number
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
  approvals: Pick<ApprovalCalls, 'status'>,
  approvalId: string,
  { waitSeconds, signal }: WaitOptions,
  clock: () => Instant,
): Promise<ApprovalStatus> {
  if (waitSeconds !== undefined && !(waitSeconds >= 0)) throw new UsageError('waitSeconds must be 0 or more')
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

/** Asks, and with `wait` asks again once a person has decided. */
export async function askAndWait(
  ask: (options: AskOptions) => Promise<Answer>,
  wait: (approvalId: string, options: WaitOptions) => Promise<ApprovalStatus>,
  { approval, waitSeconds, ...options }: AskOptions & HeldOptions,
): Promise<Answer> {
  const answer = await ask(options)
  if (approval !== 'wait' || answer.allowed || !answer.held) return answer
  const { approvalId } = answer
  const { signal } = options
  const limits = {
    ...(waitSeconds === undefined ? {} : { waitSeconds }),
    ...(signal === undefined ? {} : { signal }),
  }
  const { state } = await wait(approvalId, limits)
  if (state === 'pending') return answer
  // Another question with the same content: the key of the first one would repeat its answer.
  const { idempotencyKey: _key, ...again } = options
  return ask({ ...again, approvalId })
}
