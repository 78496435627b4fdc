import { consensus } from '@chancery/contract'
import { consensusForm, shape, voteForm } from '@chancery/protocol'
import type {
  BoundaryDecision,
  ConsensusProof,
  JsonObject,
  JustificationProof,
  ValidatorVote,
} from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'

export interface AssemblyRequest {
  readonly justification_proof: RecordOrText<JustificationProof | JsonObject>
  readonly votes: readonly (ValidatorVote | JsonObject)[]
  /** How many distinct validators must approve. */
  readonly required_threshold: number
  readonly validator_sovereign_ids: readonly string[]
  /** The key of each validator. Without it the authority uses the keys that it knows. */
  readonly validator_public_keys?: Readonly<Record<string, string>>
}

/** protocol/trust-operations 8.6: a negative result is a verdict, not an error. */
export type ConsensusVerdict = {
  readonly valid: boolean
  readonly reason: string
  readonly consensus_id: string
}

export interface ConsensusApi {
  /**
   * As operator: the vote of this authority on a justification that it or another authority issued. `castVote` votes
   * without an authority.
   */
  vote(
    request: {
      readonly justification_proof: RecordOrText<JustificationProof | JsonObject>
      readonly vote: boolean
      readonly reason?: string
      /** Keys of the issuer, 1 to 16. They need a privileged operator. Without them the authority uses the keys it knows. */
      readonly justification_public_keys?: readonly string[]
      /** The decision that the proof explains. It is verified with the same keys. */
      readonly decision?: RecordOrText<BoundaryDecision | JsonObject>
    },
    options?: WriteOptions,
  ): Promise<ValidatorVote>
  /** As operator: the collected votes as one signed proof. */
  assemble(request: AssemblyRequest, options?: WriteOptions): Promise<ConsensusProof>
  verify(
    request: {
      readonly proof: RecordOrText<ConsensusProof | JsonObject>
      /** The key of each validator by its sovereign id; there is no default. */
      readonly validator_public_keys: Readonly<Record<string, string>>
      readonly assembler_public_keys?: readonly string[]
    },
    options?: CallOptions,
  ): Promise<ConsensusVerdict>
}

const word = shape.required(shape.string)
const readVerdict = shape.open({ valid: shape.required(shape.boolean), reason: word, consensus_id: word })

export function consensusApi({ call }: Connection): ConsensusApi {
  return {
    vote: (request, options) =>
      call({
        route: consensus.vote,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(voteForm)),
        options,
      }),
    assemble: (request, options) =>
      call({
        route: consensus.proof,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(consensusForm)),
        options,
      }),
    verify: (request, options) =>
      call({
        route: consensus.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
  }
}
