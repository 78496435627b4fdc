import type { JsonObject } from '@chancery/protocol'

/** A refusal of the token endpoint: the error that OAuth libraries know, and the reason in `chancery_reason`. */
export interface TokenErrorEntry {
  readonly status: number
  readonly error: string
  readonly reason: string
  /** Fixed ASCII without quotation marks; never text of a request. */
  readonly description: string
}

const NEUTRAL = 'The gateway cannot answer this now. Try again later.'

type Lines = Readonly<Record<string, string>>

/** Reasons by status and error. A reason without a text has the neutral one. */
const GROUPS = [
  [
    400,
    'invalid_request',
    {
      malformed_request: 'The request is malformed. Check target and headers.',
      content_type: 'The body must be application/x-www-form-urlencoded without a content coding.',
      form_invalid: 'The body is not a form in UTF-8 with at most 32 parameters, or the request has a query.',
      parameter_repeated: 'A parameter occurs more than once.',
      grant_type_missing: 'The parameter grant_type is missing.',
      credentials_repeated: 'A token request has a client assertion and no other credential.',
      user_assertion_malformed: 'The user assertion is not an ID-JAG.',
      user_assertion_issuer: 'The issuer of the user assertion does not count for this resource.',
      user_assertion_signature: 'The issuer of the user assertion did not sign it.',
      user_assertion_audience: 'The user assertion is for another gateway, node or resource.',
      user_assertion_stale: 'The user assertion has ended, lives too long or is from a clock that is ahead.',
      user_assertion_claims: 'The user assertion names no subject, or does not permit the scope.',
    },
  ],
  [400, 'unsupported_grant_type', { grant_type: 'The grant type must be client_credentials.' }],
  [
    400,
    'invalid_target',
    {
      resource_repeated: 'A token is for one resource.',
      resource_missing: 'The parameter resource is missing.',
      resource_unknown: 'This resource is not available here.',
    },
  ],
  [
    400,
    'invalid_scope',
    {
      scope_malformed: 'Scopes are separated by one space.',
      scope_missing: 'The resource has no default scopes. Name a scope.',
      scope_limit: 'The request has more scopes than this gateway accepts.',
      scope_unknown: 'The resource does not have one of the scopes.',
      subject_unknown: 'No attestation is known for this node.',
      question_refused: 'The authority does not accept the question.',
      decision_denied: 'The authority does not permit this.',
    },
  ],
  [
    400,
    'invalid_dpop_proof',
    {
      dpop_missing: 'This token needs a DPoP proof.',
      dpop_malformed: 'The DPoP proof cannot be read, or its key or algorithm is not accepted.',
      dpop_stale: 'The DPoP proof is too old, or from a clock that is ahead.',
      dpop_target: 'The DPoP proof is for another request.',
      dpop_signature: 'The key in the DPoP proof did not sign it.',
      dpop_key: 'The client assertion does not name the key of the DPoP proof.',
      dpop_replayed: 'The DPoP proof was used before.',
    },
  ],
  [
    401,
    'invalid_client',
    {
      assertion_missing: 'A client assertion with its type is required.',
      assertion_malformed: 'The client assertion cannot be read, or a claim has a wrong form.',
      assertion_algorithm: 'The client assertion must be signed with Ed25519.',
      wrong_audience: 'The audience of the client assertion must be the issuer, and nothing else.',
      assertion_stale: 'The client assertion has ended, lives too long or is from a clock that is ahead.',
      certificate_malformed: 'The certificate in the client assertion cannot be read.',
      client_id_mismatch: 'The client is not the key of the certificate.',
      signature_invalid: 'The key of the certificate did not sign the client assertion.',
      attestation_malformed: 'The attestation in the client assertion cannot be read.',
      attestation_not_bound: 'The attestation is about another key.',
      attestation_issuer_mismatch: 'Another network issued the attestation.',
      certificate_untrusted: 'This certificate is not trusted here.',
      assertion_replayed: 'The client assertion was used before.',
      certificate_ending: 'The certificate ends in less than 10 seconds.',
    },
  ],
  [408, 'invalid_request', { deadline: 'The request took longer than this gateway allows.' }],
  [413, 'invalid_request', { body: 'The body is too large.' }],
  [431, 'invalid_request', { headers_too_large: 'The header section is too large.' }],
  [
    429,
    'temporarily_unavailable',
    {
      address_quota: 'Too many token requests from this address.',
      node_quota: 'The quota of this node is used up for now.',
      decision_quota: 'The decision quota of this node is used up for now.',
      auth_throttled: 'Too many failed authentications from this address.',
    },
  ],
  [500, 'server_error', { internal: NEUTRAL }],
  [
    502,
    'server_error',
    {
      authority_unreachable: NEUTRAL,
      authority_timeout: NEUTRAL,
      authority_redirect: NEUTRAL,
      authority_error: NEUTRAL,
      authority_response_too_large: NEUTRAL,
      authority_invalid_response: NEUTRAL,
      decision_unverified: NEUTRAL,
      decision_not_stored: NEUTRAL,
    },
  ],
  [
    503,
    'temporarily_unavailable',
    {
      revocation_list: NEUTRAL,
      nonces_unavailable: NEUTRAL,
      audit_unavailable: NEUTRAL,
      state_unavailable: NEUTRAL,
      relay_certificate: NEUTRAL,
      clock_offset: NEUTRAL,
      lifetime_too_short: NEUTRAL,
      user_keys_unavailable: NEUTRAL,
      overloaded: NEUTRAL,
      not_ready: NEUTRAL,
    },
  ],
] as const satisfies readonly (readonly [number, string, Lines])[]

type ReasonsOf<Group> = Group extends readonly [number, string, infer Reasons] ? keyof Reasons : never

export type TokenErrorName = ReasonsOf<(typeof GROUPS)[number]>

/** Every refusal of the token endpoint (docs/protocol/access-tokens.md). */
export const TOKEN_ERRORS: Readonly<Record<TokenErrorName, TokenErrorEntry>> = Object.fromEntries(
  GROUPS.flatMap(([status, error, reasons]) =>
    Object.entries<string>(reasons).map(([reason, description]) => [reason, { status, error, reason, description }]),
  ),
  // The type of Object.fromEntries has no names; they are those of GROUPS.
) as Record<TokenErrorName, TokenErrorEntry>

/** A scope without a permission: what the authority decided on it. */
export type DeniedScope = { readonly scope: string; readonly decision_id: string; readonly reason: string }

export interface TokenRefusalOptions extends ErrorOptions {
  readonly denied?: readonly DeniedScope[]
  /** Whole seconds for `Retry-After`, where a better value than 60 is known. */
  readonly retryAfterSeconds?: number
}

/** A refusal of the token endpoint. Thrown anywhere; the endpoint turns it into its error body. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal'
  readonly error: TokenErrorName
  readonly denied: readonly DeniedScope[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(error: TokenErrorName, options?: TokenRefusalOptions) {
    super(TOKEN_ERRORS[error].description, options)
    this.error = error
    this.denied = options?.denied
    this.retryAfterSeconds = options?.retryAfterSeconds
  }

  /** The body of RFC 6749, with our reason. */
  toBody(requestId: string): JsonObject {
    const { error, description, reason } = TOKEN_ERRORS[this.error]
    return {
      error,
      error_description: description,
      chancery_reason: reason,
      request_id: requestId,
      ...(this.denied === undefined ? {} : { chancery_denied: [...this.denied] }),
    }
  }
}

/** Whether a text is a reason of the token endpoint. */
export function isTokenError(text: string): text is TokenErrorName {
  return Object.hasOwn(TOKEN_ERRORS, text)
}
