import { Refusal } from '@chancery/contract'
import { type Instant, SECOND, writeInstant } from '@chancery/protocol'
import type { AuthParts } from './parts.ts'

/**
 * After a recovery it is unknown which nonces were spent, so nothing signed before the floor is accepted (reliability
 * 12). The caller made no mistake: the response states when to sign again, and no failure is counted.
 */
export function refuseBelowFloor(parts: Pick<AuthParts, 'clock' | 'rollback'>, signedAt: Instant): void {
  const { replayFloor } = parts.rollback
  if (signedAt > replayFloor) return
  const retryAfterSeconds = Math.max(1, secondsToFloor(parts) + 1)
  throw new Refusal(
    'service_unavailable',
    { reason: 'replay_floor', replay_floor: writeInstant(replayFloor) },
    {
      retryAfterSeconds,
      message: `The authority was recovered from a backup. Sign the request again after ${writeInstant(replayFloor)}.`,
    },
  )
}

/** How long requests signed now are still refused; 0 when they are accepted. */
export function secondsToFloor({ clock, rollback }: Pick<AuthParts, 'clock' | 'rollback'>): number {
  const left = rollback.replayFloor - clock.now()
  return left < 0n ? 0 : Number(left / SECOND) + 1
}
