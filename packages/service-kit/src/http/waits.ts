import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import type { Soon } from '../soon.ts'

/** From here on reading a body takes milliseconds. */
const LONG_BODY_BYTES = 131_072

/** Reading a long body was one piece of work and judging it will be another: others get a turn between the two. */
export function othersFirst(bytes: Uint8Array): Soon<void> {
  return bytes.length < LONG_BODY_BYTES ? undefined : nextTurn()
}

/** A write may still be committed: the caller must look before repeating. */
export function tooLate(route: Route): Refusal {
  return new Refusal('service_unavailable', route.method === 'GET' ? {} : { outcome: 'unknown' })
}
