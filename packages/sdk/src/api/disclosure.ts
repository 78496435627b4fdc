import { disclosure } from '@chancery/contract'
import { commitmentForm, field, membershipProofForm, nullifierForm, shape } from '@chancery/protocol'
import type {
  CapabilityCommitment,
  CapabilityMembershipProof,
  CapabilityNullifier,
  JsonObject,
} from '@chancery/protocol'
import { json } from '../http/read-response.ts'
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
  /** Of a salted commitment. */
  readonly seed?: string
}

/** What a commitment is made over. */
export interface CommitRequest {
  readonly capabilities: readonly string[]
  readonly agreement: RecordOrText<JsonObject>
}

/** The commitment is for verifiers. The seed is needed for every proof: who has it can guess the hidden names. */
export interface SaltedCommitment {
  readonly commitment: CapabilityCommitment
  readonly seed: string
}

/** protocol/trust-operations 7.4: a negative result is a verdict, not an error. */
export type DisclosureVerdict = {
  readonly valid: boolean
  readonly reason: string
  readonly commitment_id: string
  /** A text when the commitment is unsalted: hidden names can be guessed. */
  readonly warning: string | null
}

export interface DisclosureApi {
  /** As operator. Every capability must be one of the agreement. Store the seed: the authority does not. */
  commit(request: CommitRequest, options?: WriteOptions): Promise<SaltedCommitment>
  /** As operator: the form that older networks read. Hidden names can be guessed from it. */
  commitUnsalted(request: CommitRequest, options?: WriteOptions): Promise<CapabilityCommitment>
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
const readVerdict = shape.open({
  valid: shape.required(shape.boolean),
  reason: word,
  commitment_id: word,
  warning: shape.withDefault(shape.nullable(shape.string), null),
})
const readSalted = shape.open({
  commitment: shape.required(signedRecord(commitmentForm)),
  seed: shape.required(field.digest),
})

export function disclosureApi({ call }: Connection): DisclosureApi {
  return {
    commit: (request, options) =>
      call({
        route: disclosure.commit,
        body: { ...request, salted: true },
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json((value) => readSalted(value, '')),
        options,
      }),
    commitUnsalted: (request, options) =>
      call({
        route: disclosure.commit,
        body: { ...request },
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
