import type { PULL_OUTCOMES } from '../../metrics.ts'

export type Outcome = (typeof PULL_OUTCOMES)[number]
export type Failure = Exclude<Outcome, 'ok' | 'unchanged'>

/** A step ended without a usable document. It has no text of the partner. */
export class StepFailureError extends Error {
  override readonly name = 'StepFailureError'
  readonly outcome: Failure

  constructor(outcome: Failure) {
    super(outcome)
    this.outcome = outcome
  }
}
