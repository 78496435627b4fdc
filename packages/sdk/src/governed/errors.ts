import { ChanceryError } from '../errors.ts'

/** Errors around a governed action; an error of the action itself is thrown unchanged. */
export class GovernedActionError extends ChanceryError {
  override readonly name: string = 'GovernedActionError'
}

/** A decision that does not meet the requirements; no action was done. `reason` is a code for programs. */
export class DecisionVerificationError extends GovernedActionError {
  override readonly name: string = 'DecisionVerificationError'
  readonly reason: string
  readonly decisionId: string

  constructor(reason: string, decisionId: string) {
    super(`The decision ${decisionId} is not relied upon: ${reason}`)
    this.reason = reason
    this.decisionId = decisionId
  }
}

/** Parameters look like a secret, or are too long. The store is permanent and exported, so nothing was done. */
export class MetadataRefusedError extends GovernedActionError {
  override readonly name: string = 'MetadataRefusedError'

  constructor() {
    super('The parameters of the action look like a secret or are longer than 16 KiB: evidence holds metadata only')
  }
}

/**
 * The outbox could not store the evidence. Before the action (`executed` is false) nothing was done. After it, `record`
 * contains the signed record or what is available of it, for the caller to store.
 */
export class EvidenceNotStoredError extends GovernedActionError {
  override readonly name: string = 'EvidenceNotStoredError'
  readonly executed: boolean
  readonly record: unknown

  constructor(executed: boolean, record: unknown, options?: ErrorOptions) {
    super(
      executed
        ? 'The action was done, but its evidence could not be stored'
        : 'Nothing was done: no evidence could be stored',
      options,
    )
    this.executed = executed
    this.record = record
  }
}
