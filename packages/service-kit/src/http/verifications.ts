import { SERVER_LIMITS } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import { Shares } from './address-shares.ts'

/** Slots of verify routes. Anyone may call them and one call can be expensive, so they use no slots of other routes. */
export class Verifications extends Shares {
  constructor() {
    super(SERVER_LIMITS.verificationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.limit === 'verify'
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
