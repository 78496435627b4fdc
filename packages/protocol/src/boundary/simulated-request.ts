import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { type Instant, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { FormError } from '../reading/schema.ts'
import { arrayOf, integer, object, string } from '../reading/shape.ts'
import { label } from '../reading/text.ts'
import type { AttestationFacts, Facts } from './facts.ts'
import { type Scalar, isScalar } from './engine-question.ts'

/** A simulated request to test policies: the facts they could read, and the time of the decision. */
export interface SimulatedRequest {
  readonly facts: Facts
  readonly at: Instant
  /** Answers of other systems, by the gate (`policy_id/gate_id`) that asks for them. */
  readonly external_facts: ReadonlyMap<string, Scalar>
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
  'external_facts',
])

/**
 * Reads a request to be simulated or tested. What is left out gets the value an evaluation would give it; an unknown
 * member is refused, since a mistyped one would be tested as absent.
 */
export function readSupposedRequest(
  value: JsonValue,
  absent: { readonly provider: string; readonly now: Instant },
): SimulatedRequest {
  if (!isJsonObject(value)) throw new FormError('', 'an object is needed')
  if (Object.keys(value).some((name) => !MEMBERS.has(name))) throw new FormError('', 'has an unknown member')
  const text = (name: string, otherwise: string): string => {
    const given = member(value, name)
    return given === undefined ? otherwise : label(given, name)
  }
  const attestation = readAttestation(member(value, 'attestation'))
  const at = readTime(member(value, 'requested_at'), absent.now)
  const context = {
    requested_capability: label(member(value, 'requested_capability') ?? null, 'requested_capability'),
    requester_sovereign_id: text('requester_sovereign_id', attestation?.subject_id ?? 'unknown'),
    provider_sovereign_id: text('provider_sovereign_id', absent.provider),
    agreement_id: text('agreement_id', 'supposed'),
    parent_kind: text('parent_kind', attestation === undefined ? 'direct' : 'attestation'),
    request_parameters: part(value, 'request_parameters'),
    attributes: part(value, 'attributes'),
    context_freshness_seq: sequence(member(value, 'context_freshness_seq') ?? 0, 'context_freshness_seq'),
    requested_at: writeInstant(at),
  }
  return { facts: { context, attestation }, at, external_facts: readExternalFacts(part(value, 'external_facts')) }
}

function readExternalFacts(given: JsonObject): ReadonlyMap<string, Scalar> {
  return new Map(
    Object.entries(given).map(([gate, answer]) => {
      if (!isScalar(answer)) throw new FormError('external_facts', 'texts, numbers, booleans or null are needed')
      return [gate, answer]
    }),
  )
}

const sequence = integer(0, Number.MAX_SAFE_INTEGER)

function part(value: JsonObject, name: string): JsonObject {
  return object(member(value, name) ?? {}, name)
}

function readTime(value: JsonValue | undefined, now: Instant): Instant {
  if (value === undefined) return now
  const at = typeof value === 'string' ? readInstant(value) : undefined
  if (at === undefined) throw new FormError('requested_at', 'an ISO 8601 instant is needed')
  return at
}

/** Facts of an attestation, as the caller supposes them: nothing is granted here. */
function readAttestation(value: JsonValue | undefined): AttestationFacts | undefined {
  if (value === undefined || value === null) return undefined
  const given = object(value, 'attestation')
  return {
    subject_id: label(member(given, 'subject_id') ?? null, 'attestation.subject_id'),
    roles: arrayOf(string, { max: 64 })(member(given, 'roles') ?? [], 'attestation.roles'),
    claims: object(member(given, 'claims') ?? {}, 'attestation.claims'),
  }
}
