import { field, form, membershipProofForm, readCapabilityCommitment, readReceived } from '@chancery/protocol'
import type { CapabilityCommitment, CapabilityMembershipProof, JsonObject, JsonValue } from '@chancery/protocol'
import { Refusal } from '@chancery/contract'
import { readOrRefuse, requirePresent } from '../../requests/read-fields.ts'

const names = form.listOf(field.label, { min: 1 }).read

export interface ProveRequest {
  readonly capability: string
  readonly capabilities: readonly string[]
  readonly commitment: CapabilityCommitment
  readonly prover_sovereign_id: string
  readonly seed?: string
}

/** protocol/trust-operations 7.3, checks in the order of its text. */
export function readProveRequest(body: JsonObject): ProveRequest {
  const presented = requirePresent(body, 'commitment', 'missing_prove_fields')
  const named = readOrRefuse('missing_prove_fields', () => ({
    capability: field.label(body['capability'] ?? null, 'capability'),
    capabilities: names(body['capabilities'] ?? null, 'capabilities'),
    prover_sovereign_id: field.identifier(body['prover_sovereign_id'] ?? null, 'prover_sovereign_id'),
    ...((body['seed'] ?? null) === null ? {} : { seed: field.digest(body['seed'] ?? null, 'seed') }),
  }))
  const { record } = readOrRefuse('invalid_commitment', () => readCapabilityCommitment(presented))
  return { ...named, commitment: record }
}

/** protocol/trust-operations 7.2: checks only that both are present. Their content is checked later. */
export function readCommitRequest(body: JsonObject): {
  readonly items: readonly JsonValue[]
  readonly presented: JsonValue
  readonly isSalted: boolean
} {
  const items = body['capabilities']
  const isList = Array.isArray(items) && items.length > 0 && items.length <= form.MAX_ITEMS
  if (!isList) throw new Refusal('missing_commit_fields', { field: 'capabilities' })
  const presented = requirePresent(body, 'agreement', 'missing_commit_fields')
  const { salted = false } = body
  // A word that is not understood must not give a form that hides less.
  if (typeof salted !== 'boolean') throw new Refusal('missing_commit_fields', { field: 'salted' })
  return { items: items as readonly JsonValue[], presented, isSalted: salted }
}

/** Checks the list of a commitment: non-empty names, without repetition, all agreed (protocol/trust-operations 7.2). */
export function readCommittable(items: readonly JsonValue[], agreed: readonly string[]): readonly string[] {
  const capabilities = readOrRefuse('commit_failed', () => names(items, 'capabilities'))
  const isDistinct = new Set(capabilities).size === capabilities.length
  const known = new Set(agreed)
  if (!isDistinct || !capabilities.every((capability) => known.has(capability))) throw new Refusal('commit_failed')
  return capabilities
}

export function readProof(value: JsonValue): CapabilityMembershipProof {
  return readReceived(membershipProofForm, value).record
}
