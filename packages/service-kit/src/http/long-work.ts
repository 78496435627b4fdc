import { SERVER_LIMITS, roomOf } from '@chancery/contract'
import type { Route, RoomName } from '@chancery/contract'
import { FairTurns } from '../fair-turns.ts'
import type { Turn } from '../fair-turns.ts'
import { Verifications } from './verifications.ts'

const LIMITS = { atOnce: SERVER_LIMITS.turnsAtOnce, shortMs: 2, restFactor: 9, restMaxMs: 3000 }

/**
 * Turns for requests whose body takes the event loop for milliseconds to read and to judge: one at a time for each
 * address, with a rest after a long one, so that an address gets a tenth of the loop's time for them. Apart for each kind of route, as the room for their bodies is.
 */
export class LongWork {
  readonly #turns = new Map<RoomName, FairTurns>()

  /** Undefined for a body that is read and judged in a moment. */
  turnFor(route: Route, address: string, bodyBytes: number): Turn | undefined {
    const from = Verifications.covers(route) ? SERVER_LIMITS.verificationTurnBytes : SERVER_LIMITS.turnBytes
    if (bodyBytes < from) return undefined
    const room = roomOf(route)
    const turns = this.#turns.get(room) ?? new FairTurns(LIMITS)
    this.#turns.set(room, turns)
    return turns.take(address)
  }
}
