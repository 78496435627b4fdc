// @chancery/sdk with the names that it had in release 0.2.0.
import { createClient as create, GovernedActionRunner } from '@chancery/sdk'

export * from '@chancery/sdk'
export { signingFetch as provingFetch, verifyRecord as verifyPaper } from '@chancery/sdk'

/** `evidence.search` was `evidence.page`. */
export const createClient = (options) => {
  const client = create(options)
  const { evidence } = client
  return Object.assign(Object.create(client), {
    evidence: Object.assign(Object.create(evidence), { page: (...asked) => evidence.search(...asked) }),
  })
}

export const Governor = {
  open: ({ nameTries, ...options }) =>
    GovernedActionRunner.open(nameTries === undefined ? options : { ...options, useIdempotencyKeys: nameTries }),
}
