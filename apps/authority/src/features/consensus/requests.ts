import { Refusal } from '@chancery/contract'
import {
  boundaryDecisionForm,
  field,
  form,
  isJsonObject,
  justificationForm,
  readPublicKey,
  readReceived,
  readValidatorVote,
  shape,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  JsonObject,
  JsonValue,
  JustificationProof,
  Received,
  ValidatorVote,
} from '@chancery/protocol'
import { readOrRefuse, requirePresent } from '../../requests/read-fields.ts'

export interface VoteRequest {
  readonly justification: Received<JustificationProof>
  readonly vote: boolean
  readonly reason: string | null
  /** Keys of the issuer from the request; empty when there are none. */
  readonly suppliedKeys: readonly string[]
  /** The decision that the proof is about. */
  readonly decision: Received<BoundaryDecision> | undefined
}

/** As many as a treaty may name. */
const MAX_ISSUER_KEYS = 16
const issuerKeys = shape.arrayOf(field.publicKey, { min: 1, max: MAX_ISSUER_KEYS, distinct: true })

/** protocol/trust-operations 8.4, checks in the order of its table. */
export function readVoteRequest(body: JsonObject): VoteRequest {
  const presented = requirePresent(body, 'justification_proof', 'missing_vote_fields')
  const vote = requirePresent(body, 'vote', 'missing_vote_fields')
  if (typeof vote !== 'boolean') throw new Refusal('invalid_vote_type')
  const read = readOrRefuse('invalid_justification', () => ({
    justification: readReceived(justificationForm, presented),
    vote,
    reason: shape.nullable(shape.string)(body['reason'] ?? null, 'reason'),
  }))
  const { justification_public_keys: keys, decision } = body
  return {
    ...read,
    suppliedKeys: isAbsent(keys)
      ? []
      : readOrRefuse('invalid_public_keys', () => issuerKeys(keys, 'justification_public_keys')),
    decision: isAbsent(decision)
      ? undefined
      : readOrRefuse('invalid_decision', () => readReceived(boundaryDecisionForm, decision)),
  }
}

function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null
}

export interface AssemblyRequest {
  readonly justification: Received<JustificationProof>
  readonly votes: readonly Received<ValidatorVote>[]
  readonly required_threshold: number
  readonly validator_sovereign_ids: readonly string[]
  /** The key of each validator; undefined when the request has none. */
  readonly validatorKeys: ReadonlyMap<string, string> | undefined
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
  const validatorKeys = isAbsent(body['validator_public_keys']) ? undefined : readKeysById(body)
  return { ...read, required_threshold, validatorKeys }
}

function requireList(body: JsonObject, name: string): JsonValue {
  const value = requirePresent(body, name, 'missing_proof_fields')
  if (!Array.isArray(value)) throw new Refusal('missing_proof_fields', { field: name })
  return value
}

/** Reads the key of each validator. One key for two validators would let one party count twice. */
export function readValidatorKeys(body: JsonObject): ReadonlyMap<string, string> {
  const keys = readKeysById(body)
  if (new Set(keys.values()).size !== keys.size) throw new Refusal('invalid_public_keys')
  return keys
}

/** Invalid key text counts as no key. */
function readKeysById(body: JsonObject): ReadonlyMap<string, string> {
  const given = body['validator_public_keys']
  const entries = isJsonObject(given) ? Object.entries(given) : []
  if (entries.length === 0) throw new Refusal('missing_validator_public_keys')
  if (entries.length > form.MAX_ITEMS) throw new Refusal('invalid_public_keys')
  const known = entries.filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && readPublicKey(entry[1]) !== undefined,
  )
  return new Map(known)
}
