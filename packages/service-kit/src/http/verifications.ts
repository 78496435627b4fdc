import { setTimeout as pause } from 'node:timers/promises'
import { type Route, SERVER_LIMITS } from '@chancery/contract'
import { Shares } from './address-shares.ts'

/** How often a call that was held tries to take a slot. */
const TRY_MS = 20

/** Slots of verify routes. Anyone may call them and one call can be expensive, so they use no slots of other routes. */
export class Verifications extends Shares {
  constructor() {
    super(SERVER_LIMITS.verificationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.limit === 'verify'
  }
}

/** Slots of published documents. Revocation lists are read while other calls wait, for example at a switch of the key. */
export class PublishedReads extends Shares {
  constructor() {
    super(SERVER_LIMITS.inFlightRequests, 1)
  }

  static covers(route: Route): boolean {
    return route.limit === 'public'
  }
}

/** Slots of calls that were held: many go on at once, and new calls must be served meanwhile. */
export class ResumedCalls extends Shares {
  constructor() {
    super(SERVER_LIMITS.inFlightRequests / 4, 1)
  }

  /** Waits for a slot, unless the call is over. Returns how to give it back. */
  async enter(address: string, isOver: () => boolean): Promise<() => void> {
    while (!this.take(address)) {
      if (isOver()) return () => undefined
      await pause(TRY_MS)
    }
    return () => this.give(address)
  }
}

/**
 * Slots of revocation routes, so that a revocation is served while other requests of the operator's address are open.
 */
export class Revocations extends Shares {
  constructor() {
    super(SERVER_LIMITS.revocationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.reserve === 'revocation'
  }
}

export interface OwnSlots {
  readonly verifications: Verifications
  readonly revocations: Revocations
  readonly published: PublishedReads
  readonly resumed: ResumedCalls
}

/** The slots of a kind of route. Undefined for those that share the slots of the process. */
export function ownSlotsOf(route: Route, { verifications, revocations, published }: OwnSlots): Shares | undefined {
  if (Verifications.covers(route)) return verifications
  if (PublishedReads.covers(route)) return published
  return Revocations.covers(route) ? revocations : undefined
}
