import { consensus } from '@chancery/contract'
import { consensusForm, shape, voteForm } from '@chancery/protocol'
import type { ConsensusProof, JsonObject, JustificationProof, ValidatorVote } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
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
}

/** protocol/trust-operations 8.6: a negative result is a verdict, not an error. */
export type ConsensusVerdict = {
  readonly valid: boolean
  readonly reason: string
  readonly consensus_id: string
}

export interface ConsensusApi {
  /** As operator: the vote of this authority on a justification it issued. */
  vote(
    request: {
      readonly justification_proof: RecordOrText<JustificationProof | JsonObject>
      readonly vote: boolean
      readonly reason?: string
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
const readVerdict = known({ valid: shape.required(shape.boolean), reason: word, consensus_id: word })

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
