import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import type { ReadBy } from '../reading/schema.ts'
import { arrayOf, closed, integer, optional, readRecord, required, withDefault } from '../reading/shape.ts'
import { identifier, matching, plainText, signatures, timestamp } from '../reading/text.ts'

/** The part an operator chooses; the rest is the authority's. */
export type PolicyTerms = Omit<PolicyManifest, 'policy_id' | 'issued_at' | 'issued_by' | 'signatures'>

const policyId = matching(/^[A-Za-z0-9._:-]{1,128}$/, '1 to 128 characters of A-Z a-z 0-9 . _ : -')
const DEFAULT_ROUTING = { preferred_transports: ['quic', 'wireguard'], max_hops: 6 }

const terms = {
  min_client_version: withDefault(
    matching(/^[0-9A-Za-z.+-]{1,32}$/, '1 to 32 characters of 0-9 A-Z a-z . + -'),
    '0.1.0',
  ),
  allowed_ports: withDefault(arrayOf(integer(1, 65_535), { max: 256 }), [443, 8443]),
  allowed_services: withDefault(arrayOf(plainText(128), { max: 256 }), []),
  routing: withDefault(
    closed({
      preferred_transports: withDefault(arrayOf(plainText(64), { max: 64 }), DEFAULT_ROUTING.preferred_transports),
      max_hops: withDefault(integer(1, 64), DEFAULT_ROUTING.max_hops),
    }),
    DEFAULT_ROUTING,
  ),
}

/** The members an operator submits. Without `policy_id` the authority chooses it. */
export const policyRequest = { policy_id: optional(policyId), ...terms }

export const policyManifestShape = closed({
  policy_id: required(policyId),
  issued_at: required(timestamp),
  issued_by: required(identifier),
  ...terms,
  signatures: withDefault(signatures, []),
})

/** What the network asks of its clients (protocol/core 10.1). */
export type PolicyManifest = ReadBy<typeof policyManifestShape>

export function readPolicyManifest(value: JsonValue): PolicyManifest {
  return readRecord(policyManifestShape, value)
}

/** The default terms of a policy. */
export function defaultPolicyTerms(): PolicyTerms {
  return readRecord(closed(terms), {})
}

export function draftPolicyManifest(facts: {
  readonly policy_id: string
  readonly issued_at: string
  readonly issued_by: string
  readonly terms: PolicyTerms
}): PolicyManifest {
  const { terms: chosen, ...named } = facts
  return { ...named, ...chosen, signatures: [] }
}

/** Two manifests ask for the same when they agree in everything but who signed when (protocol/core 10.2). */
export function isSamePolicy(a: PolicyManifest, b: PolicyManifest): boolean {
  return termsText(a) === termsText(b)
}

function termsText(policy: PolicyManifest): string {
  const { issued_at: _at, issued_by: _by, signatures: _signatures, ...content } = policy
  return canonicalJson(content)
}
