import { type BoundaryDecision, hasSecretMaterial, type JsonObject } from '@chancery/protocol'
import { ChanceryError, UsageError, VerificationError } from '../errors.ts'

/** A decision that does not meet the requirements; no action was done. */
export function notReliedUpon(
  reason: string,
  { decision_id }: Pick<BoundaryDecision, 'decision_id'>,
): VerificationError {
  return new VerificationError(reason, 'boundary-decision', `${decision_id} is not relied upon: ${reason}`)
}

/** The store is permanent and exported, so evidence holds metadata only. Throws UsageError; nothing was done. */
export function requireMetadata(parameters: JsonObject, detail: string | null = null): void {
  if (hasSecretMaterial(parameters, detail)) throw new UsageError(METADATA_ONLY, { reason: 'metadata_refused' })
}

export const METADATA_ONLY =
  'The parameters of the action look like a secret or are longer than 16 KiB: evidence holds metadata only'

/**
 * The outbox could not store the evidence. Before the action (`executed` is false) nothing was done. After it, `record`
 * contains the signed record or what is available of it, for the caller to store.
 */
export class EvidenceNotStoredError extends ChanceryError {
  override readonly name: string = 'EvidenceNotStoredError'
  readonly kind = 'evidence_not_stored'
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
