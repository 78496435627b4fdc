import { SERVER_LIMITS } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import { Shares } from './address-shares.ts'

/** Places of verify routes: anyone may call them and one call can cost much, so they take none of the others. */
export class Verifications extends Shares {
  constructor() {
    super(SERVER_LIMITS.verificationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.limit === 'verify'
  }
}

/** Places of withdrawals: whatever else an operator's address has under way, its revocation is served. */
export class Withdrawals extends Shares {
  constructor() {
    super(SERVER_LIMITS.revocationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.reserve === 'revocation'
  }
}
