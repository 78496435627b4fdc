import { Refusal } from '@chancery/contract'
import { FormError, field, isJsonObject, member, readInstant, shape, writeInstant } from '@chancery/protocol'
import type { AttestationFacts, Facts, Instant, JsonObject, JsonValue } from '@chancery/protocol'

/** At most so many requests are simulated at once; each costs two evaluations. */
export const MAX_CONTEXTS = 1000

/** A request to be simulated: the facts a policy could read, and the time they are judged at. */
export interface SimulatedRequest {
  readonly facts: Facts
  readonly at: Instant
}

const MEMBERS: ReadonlySet<string> = new Set([
  'requested_capability',
  'requester_sovereign_id',
  'provider_sovereign_id',
  'agreement_id',
  'parent_kind',
  'request_parameters',
  'attributes',
  'context_freshness_seq',
  'requested_at',
  'attestation',
])

/** The `contexts` of a simulation. What is left out gets the value an evaluation would give it. */
export function readContexts(value: JsonValue | undefined, own: string, now: Instant): readonly SimulatedRequest[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CONTEXTS)
    throw new Refusal('invalid_input', { field: 'contexts' })
  return (value as readonly JsonValue[]).map((each, index) => {
    try {
      return readContext(each, own, now)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      throw new Refusal('invalid_context', { field: `contexts[${index}].${error.field}` }, { cause: error })
    }
  })
}

function readContext(value: JsonValue, own: string, now: Instant): SimulatedRequest {
  if (!isJsonObject(value) || Object.keys(value).some((name) => !MEMBERS.has(name)))
    throw new FormError('', 'an object with the members of a context is needed')
  const text = (name: string, absent: string): string => {
    const given = member(value, name)
    return given === undefined ? absent : field.label(given, name)
  }
  const attestation = readAttestation(member(value, 'attestation'))
  const at = readTime(member(value, 'requested_at'), now)
  const context = {
    requested_capability: field.label(member(value, 'requested_capability') ?? null, 'requested_capability'),
    requester_sovereign_id: text('requester_sovereign_id', attestation?.subject_id ?? 'unknown'),
    provider_sovereign_id: text('provider_sovereign_id', own),
    agreement_id: text('agreement_id', 'simulated'),
    parent_kind: text('parent_kind', attestation === undefined ? 'direct' : 'attestation'),
    request_parameters: object(value, 'request_parameters'),
    attributes: object(value, 'attributes'),
    context_freshness_seq: sequence(member(value, 'context_freshness_seq') ?? 0, 'context_freshness_seq'),
    requested_at: writeInstant(at),
  }
  return { facts: { context, attestation }, at }
}

const sequence = shape.integer(0, Number.MAX_SAFE_INTEGER)

function object(value: JsonObject, name: string): JsonObject {
  return shape.object(member(value, name) ?? {}, name)
}

function readTime(value: JsonValue | undefined, now: Instant): Instant {
  if (value === undefined) return now
  const at = typeof value === 'string' ? readInstant(value) : undefined
  if (at === undefined) throw new FormError('requested_at', 'an ISO 8601 instant is needed')
  return at
}

/** Facts of an attestation, as a caller supposes them: nothing is granted here. */
function readAttestation(value: JsonValue | undefined): AttestationFacts | undefined {
  if (value === undefined || value === null) return undefined
  const given = shape.object(value, 'attestation')
  return {
    subject_id: field.label(member(given, 'subject_id') ?? null, 'attestation.subject_id'),
    roles: shape.arrayOf(shape.string, { max: 64 })(member(given, 'roles') ?? [], 'attestation.roles'),
    claims: shape.object(member(given, 'claims') ?? {}, 'attestation.claims'),
  }
}
