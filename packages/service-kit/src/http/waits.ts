import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import type { MaybePromise } from '../async/maybe-promise.ts'

/** From here on reading a body takes milliseconds. */
const LONG_BODY_BYTES = 131_072

/** Lets other requests run between reading a long body and verifying it: each takes milliseconds. */
export function yieldForLargeBody(bytes: Uint8Array): MaybePromise<void> {
  return bytes.length < LONG_BODY_BYTES ? undefined : nextTurn()
}

/** A write may still be committed: the caller must look before repeating. */
export function tooLate(route: Route): Refusal {
  const outcome = route.method === 'GET' ? {} : { outcome: 'unknown' }
  return new Refusal('service_unavailable', { reason: 'deadline', ...outcome })
}
