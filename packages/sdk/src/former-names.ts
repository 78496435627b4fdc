import { GovernedActionRunner } from './governed/action-runner.ts'
import type { GovernedActionOptions } from './governed/action.ts'
import { signingFetch } from './request-proof/sign.ts'
import { verifyRecord } from './verify/records.ts'

// Names of earlier versions, for programs that use them (docs/decisions/0001).

/** @deprecated Use {@link GovernedActionRunner}; `nameTries` is `useIdempotencyKeys`. */
export const Governor = {
  open({
    nameTries,
    ...options
  }: GovernedActionOptions & { readonly nameTries?: boolean }): Promise<GovernedActionRunner> {
    return GovernedActionRunner.open(nameTries === undefined ? options : { ...options, useIdempotencyKeys: nameTries })
  },
}

/** @deprecated Use {@link signingFetch}. */
export const provingFetch: typeof signingFetch = signingFetch

/** @deprecated Use {@link verifyRecord}. */
export const verifyPaper: typeof verifyRecord = verifyRecord
