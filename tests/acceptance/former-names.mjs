// @chancery/sdk with the names that it had in release 0.2.0.
import { GovernedActionRunner } from '@chancery/sdk'

export * from '@chancery/sdk'
export { signingFetch as provingFetch, verifyRecord as verifyPaper } from '@chancery/sdk'

export const Governor = {
  open: ({ nameTries, ...options }) =>
    GovernedActionRunner.open(nameTries === undefined ? options : { ...options, useIdempotencyKeys: nameTries }),
}
