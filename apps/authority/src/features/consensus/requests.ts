import { Refusal } from '@chancery/contract'
import {
  field,
  form,
  isJsonObject,
  justificationForm,
  readPublicKey,
  readReceived,
  readValidatorVote,
  shape,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, JustificationProof, Received, ValidatorVote } from '@chancery/protocol'
import { readOrRefuse, requirePresent } from '../../requests/read-fields.ts'

export interface VoteRequest {
  readonly justification: Received<JustificationProof>
  readonly vote: boolean
  readonly reason: string | null
}

/** protocol/trust-operations 8.4, checks in the order of its table. */
export function readVoteRequest(body: JsonObject): VoteRequest {
  const presented = requirePresent(body, 'justification_proof', 'missing_vote_fields')
  const vote = requirePresent(body, 'vote', 'missing_vote_fields')
  if (typeof vote !== 'boolean') throw new Refusal('invalid_vote_type')
  return readOrRefuse('invalid_justification', () => ({
    justification: readReceived(justificationForm, presented),
    vote,
    reason: shape.nullable(shape.string)(body['reason'] ?? null, 'reason'),
  }))
}

export interface AssemblyRequest {
  readonly justification: Received<JustificationProof>
  readonly votes: readonly Received<ValidatorVote>[]
  readonly required_threshold: number
  readonly validator_sovereign_ids: readonly string[]
}

const validators = form.listOf(field.identifier).read

/** protocol/trust-operations 8.5, its first three checks. */
export function readAssemblyRequest(body: JsonObject): AssemblyRequest {
  const presented = requirePresent(body, 'justification_proof', 'missing_proof_fields')
  const [given, named] = [requireList(body, 'votes'), requireList(body, 'validator_sovereign_ids')]
  const threshold = requirePresent(body, 'required_threshold', 'missing_proof_fields')
  const read = readOrRefuse('invalid_input', () => ({
    justification: readReceived(justificationForm, presented),
    votes: form.listOf(readValidatorVote).read(given, 'votes'),
    validator_sovereign_ids: validators(named, 'validator_sovereign_ids'),
  }))
  const distinct = new Set(read.validator_sovereign_ids).size
  const required_threshold = readOrRefuse('invalid_threshold', () => shape.integer(1, distinct)(threshold, ''))
  return { ...read, required_threshold }
}

function requireList(body: JsonObject, name: string): JsonValue {
  const value = requirePresent(body, name, 'missing_proof_fields')
  if (!Array.isArray(value)) throw new Refusal('missing_proof_fields', { field: name })
  return value
}

/**
 * Reads the key of each validator. Invalid key text counts as no key. One key for two validators would let one party
 * count twice.
 */
export function readValidatorKeys(body: JsonObject): ReadonlyMap<string, string> {
  const given = body['validator_public_keys']
  const entries = isJsonObject(given) ? Object.entries(given) : []
  if (entries.length === 0) throw new Refusal('missing_validator_public_keys')
  if (entries.length > form.MAX_ITEMS) throw new Refusal('invalid_public_keys')
  const known = entries.filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && readPublicKey(entry[1]) !== undefined,
  )
  if (new Set(known.map(([, key]) => key)).size !== known.length) throw new Refusal('invalid_public_keys')
  return new Map(known)
}
