import type { JsonObject } from '../canonical/json-value.ts'
import type { AdmissionAlgorithm } from './algorithms.ts'

export type AdmissionKind = 'oidc' | 'spiffe_jwt' | 'spiffe_x509' | 'expired_certificate'
export type AdmissionPlatform = 'github' | 'gitlab' | 'kubernetes'

/** By claim: the texts of which the claim must be one. A name that starts with `/` is a JSON Pointer. */
export type RequiredClaims = Readonly<Record<string, readonly string[]>>

/** The part of a rule that an operator chooses. */
export type AdmissionTerms = {
  readonly rule_id: string
  readonly kind: AdmissionKind
  /** Which platform makes the tokens; decides which claims name an identity. */
  readonly platform: AdmissionPlatform | null
  readonly issuer: string | null
  readonly trust_domain: string | null
  readonly jwks_url: string | null
  readonly bundle_url: string | null
  /** A pinned JWK set or SPIFFE bundle, in place of an address. */
  readonly keys: JsonObject | null
  /** `bound`: the audience names the node key. `plain`: it names the authority only. */
  readonly audience: 'bound' | 'plain'
  readonly algorithms: readonly AdmissionAlgorithm[]
  readonly required_claims: RequiredClaims
  readonly roles: readonly string[]
  readonly max_validity_hours: number
  readonly valid_from: string | null
  readonly expires_at: string | null
  readonly max_joins: number | null
  /** Only of `expired_certificate`: hours after its end during which a certificate admits its own key again. */
  readonly grace_hours?: number
}

/** The address of the keys; null when they are pinned in the rule. */
export function keysUrlOf({ jwks_url, bundle_url }: Pick<AdmissionTerms, 'jwks_url' | 'bundle_url'>): string | null {
  return jwks_url ?? bundle_url
}
