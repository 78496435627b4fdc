import { disclosure } from '@chancery/contract'
import { commitmentForm, membershipProofForm, nullifierForm, shape } from '@chancery/protocol'
import type {
  CapabilityCommitment,
  CapabilityMembershipProof,
  CapabilityNullifier,
  JsonObject,
} from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'

/** Records of others are sent unchanged, because a member that this release does not support may be signed. */
export interface ProveRequest {
  readonly capability: string
  readonly capabilities: readonly string[]
  readonly commitment: RecordOrText<CapabilityCommitment | JsonObject>
  readonly prover_sovereign_id: string
}

/** protocol/trust-operations 7.4: a negative result is a verdict, not an error. */
export type DisclosureVerdict = {
  readonly valid: boolean
  readonly reason: string
  readonly commitment_id: string
}

export interface DisclosureApi {
  /** As operator. Every capability must be one of the agreement. */
  commit(
    request: { readonly capabilities: readonly string[]; readonly agreement: RecordOrText<JsonObject> },
    options?: WriteOptions,
  ): Promise<CapabilityCommitment>
  /** As operator: creates the nullifier by which a verifier accepts a proof once. */
  nullify(
    request: { readonly proof: RecordOrText<CapabilityMembershipProof | JsonObject> },
    options?: WriteOptions,
  ): Promise<CapabilityNullifier>
  /** Sends the whole list to the authority. To avoid this, build the proof locally with `proveMembership`. */
  prove(request: ProveRequest, options?: CallOptions): Promise<CapabilityMembershipProof>
  verify(
    request: {
      readonly proof: RecordOrText<CapabilityMembershipProof | JsonObject>
      readonly commitment: RecordOrText<CapabilityCommitment | JsonObject>
      readonly issuer_public_keys?: readonly string[]
    },
    options?: CallOptions,
  ): Promise<DisclosureVerdict>
}

const word = shape.required(shape.string)
const readVerdict = known({ valid: shape.required(shape.boolean), reason: word, commitment_id: word })

export function disclosureApi({ call }: Connection): DisclosureApi {
  return {
    commit: (request, options) =>
      call({
        route: disclosure.commit,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(commitmentForm)),
        options,
      }),
    nullify: (request, options) =>
      call({
        route: disclosure.nullifier,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(nullifierForm)),
        options,
      }),
    prove: (request, options) =>
      call({
        route: disclosure.prove,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json(signedRecord(membershipProofForm)),
        options,
      }),
    verify: (request, options) =>
      call({
        route: disclosure.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
  }
}
