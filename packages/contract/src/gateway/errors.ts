import type { JsonObject } from '@chancery/protocol'

/** One refusal of the gateway: its status, the coarse class and the stable specific reason (protocol/gateway 6). */
export interface GatewayErrorEntry {
  readonly status: number
  readonly code: string
  readonly reason: string
  /** For people. All 5xx have one message. Internal causes are not exposed. */
  readonly message: string
}

/** The coarse class of each status; clients decide by the status class first. */
const CLASSES = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'invalid_schema',
  431: 'headers_too_large',
  429: 'rate_limited',
  500: 'internal_error',
  502: 'bad_gateway',
  503: 'unavailable',
} as const

/** The class of a refusal. */
export type GatewayErrorCode = (typeof CLASSES)[keyof typeof CLASSES]

/** Whether a text, for example from a foreign answer, is a class of this table. */
export function isGatewayErrorCode(text: string): text is GatewayErrorCode {
  return Object.values<string>(CLASSES).includes(text)
}

const NEUTRAL = 'The gateway cannot answer this now. Try again later.'

// One line per refusal with a unique name: two classes share the reasons `route` and `operation`. The three refused
// credentials share one text, so that a text does not show how close a guess was.
const LINES = {
  malformed_request: { status: 400, message: 'The request is malformed. Check target and headers.' },
  invalid_json: { status: 400, message: 'The body is not valid JSON.' },
  batch_empty: { status: 400, message: 'The batch has no certificate.' },
  batch_too_large: { status: 400, message: 'The batch has more certificates than this gateway accepts.' },
  certificate_limits: { status: 400, message: 'A member of a certificate is empty or too long.' },
  trust_material_not_accepted: {
    status: 400,
    message: 'Anchors and revocation lists come from the operator of this gateway, not from callers.',
  },
  anchors_required: { status: 400, message: 'In development mode the request brings its anchors.' },
  query_not_allowed: { status: 400, message: 'This operation does not take that query parameter.' },
  query_too_large: { status: 400, message: 'The query has too many or too long parameters.' },
  duplicate_query: { status: 400, message: 'A query parameter is repeated.' },
  parameter_missing: { status: 400, message: 'A parameter of the operation is missing.' },
  parameter_invalid: { status: 400, message: 'A parameter of the operation is not acceptable.' },
  body_not_allowed: { status: 400, message: 'This operation takes no body.' },
  body_object_required: { status: 400, message: 'This operation needs a JSON object as its body.' },
  question_invalid: { status: 400, message: 'A member of the question is missing or wrong. See details.path.' },
  // AuthZEN has 400 for this, other routes answer 415.
  question_content_type: {
    status: 400,
    reason: 'content_type',
    message: 'The body must be application/json without a content coding.',
  },
  questions_too_many: {
    status: 400,
    reason: 'batch_too_large',
    message: 'The batch has more questions than this credential may ask at once. See details.maximum.',
  },
  question_refused: { status: 400, message: 'The authority does not accept the question. See details.code.' },
  credential_missing: { status: 401, message: 'A valid credential is required.' },
  credential_invalid: { status: 401, message: 'A valid credential is required.' },
  credential_expired: { status: 401, message: 'A valid credential is required.' },
  proof_missing: { status: 401, message: 'A request proof of a node is required.' },
  proof_malformed: { status: 401, message: 'The request proof is not spelled as its profile says.' },
  wrong_audience: { status: 401, message: 'The request proof is for another service.' },
  proof_stale: { status: 401, message: 'The request proof is too old, or from a clock that is ahead.' },
  digest_mismatch: { status: 401, message: 'The body is not the one of the request proof.' },
  certificate_malformed: { status: 401, message: 'The certificate of the request proof cannot be read.' },
  signature_invalid: { status: 401, message: 'The key of the certificate did not sign this request.' },
  attestation_malformed: { status: 401, message: 'The attestation of the request proof cannot be read.' },
  attestation_not_bound: { status: 401, message: 'The attestation is about another key.' },
  attestation_issuer_mismatch: { status: 401, message: 'Another network issued the attestation.' },
  authorization_not_covered: { status: 401, message: 'The request proof must cover the field Authorization.' },
  wit_malformed: { status: 401, message: 'The workload identity token cannot be read.' },
  wit_expired: { status: 401, message: 'The workload identity token has ended, or is from a clock that is ahead.' },
  proof_replayed: { status: 401, message: 'The request proof was used before. Sign each request.' },
  operator_signature_required: { status: 401, message: 'This operation needs the four operator headers, each once.' },
  network_scope: { status: 403, message: 'This credential is not scoped to the network.' },
  service_scope: { status: 403, message: 'This credential is not scoped to the operation.' },
  admin_scope: { status: 403, message: 'This credential may not forward operator-signed operations.' },
  metrics_scope: { status: 403, message: 'This credential may not read metrics.' },
  decisions_scope: { status: 403, message: 'This credential may not ask for decisions.' },
  certificate_untrusted: { status: 403, message: 'This certificate is not trusted here.' },
  wit_untrusted: { status: 403, message: 'This workload identity token is not trusted here.' },
  proof_not_relayable: {
    status: 403,
    message: 'The authority that decides cannot check a proof of WIMSE, nor one that covers Authorization.',
  },
  proxy_unknown: { status: 403, message: 'The policy names no proxy with this client certificate.' },
  check_headers: { status: 403, message: 'The proxy must send method and target of the request, each once.' },
  header_refused: { status: 403, message: 'The request has a header that only the proxy may set.' },
  path_ambiguous: { status: 403, message: 'The path has more than one reading.' },
  route_denied: { status: 403, message: 'No route of the policy permits this method and path.' },
  body_not_seen: { status: 403, message: 'The proxy did not send the body, so its digest cannot be compared.' },
  subject_unknown: {
    status: 403,
    message: 'No attestation is known for this node. Send one in the request proof, or name the node in subjects.',
  },
  decision_denied: { status: 403, message: 'The authority does not permit this.' },
  approval_required: {
    status: 403,
    message: 'A person must approve this request first. Send it again with the header Chancery-Approval.',
  },
  introspection_scope: { status: 403, message: 'This credential may not introspect access tokens.' },
  client_certificate: { status: 403, message: 'This credential is bound to another certificate.' },
  route_not_found: { status: 404, reason: 'route', message: 'There is nothing at this path.' },
  operation_not_found: { status: 404, reason: 'operation', message: 'There is no such operation.' },
  route_method: { status: 405, reason: 'route', message: 'This path does not take that method. See the Allow header.' },
  operation_method: { status: 405, reason: 'operation', message: 'This operation does not take that method.' },
  deadline: { status: 408, message: 'The request took longer than this gateway allows.' },
  body_too_large: { status: 413, reason: 'body', message: 'The body is too large.' },
  form_content_type: {
    status: 415,
    reason: 'content_type',
    message: 'The body must be application/x-www-form-urlencoded without a content coding.',
  },
  content_type: { status: 415, message: 'The body must be application/json without a content coding.' },
  field: { status: 422, message: 'A member is missing, unknown or of the wrong type. See details.path.' },
  headers_too_large: { status: 431, message: 'The header section is too large.' },
  client_quota: { status: 429, message: 'The quota of this credential is used up for now.' },
  certificate_quota: { status: 429, message: 'The certificate quota of this credential is used up.' },
  decision_quota: { status: 429, message: 'The decision quota of this credential is used up.' },
  node_quota: { status: 429, message: 'The quota of this node is used up for now.' },
  auth_throttled: { status: 429, message: 'Too many failed authentications from this address.' },
  internal: { status: 500 },
  authority_unreachable: { status: 502 },
  authority_timeout: { status: 502 },
  authority_redirect: { status: 502 },
  authority_error: { status: 502 },
  authority_response_too_large: { status: 502 },
  authority_invalid_response: { status: 502 },
  decision_unverified: { status: 502 },
  overloaded: { status: 503 },
  crypto_capacity: { status: 503 },
  batch_capacity: { status: 503 },
  state_unavailable: { status: 503 },
  audit_unavailable: { status: 503 },
  quota_backend: { status: 503 },
  authority_not_configured: { status: 503 },
  decisions_not_configured: { status: 503 },
  relay_certificate: { status: 503 },
  revocation_list: { status: 503 },
  attestation_unread: { status: 503, reason: 'authority_unreachable' },
  not_ready: { status: 503 },
} as const

export type GatewayErrorName = keyof typeof LINES

interface Line {
  readonly status: keyof typeof CLASSES
  readonly reason?: string
  readonly message?: string
}

/** Every refusal of the gateway. */
export const GATEWAY_ERRORS: Readonly<Record<GatewayErrorName, GatewayErrorEntry>> = Object.fromEntries(
  Object.entries<Line>(LINES).map(([name, { status, reason = name, message = NEUTRAL }]) => {
    return [name, { status, code: CLASSES[status], reason, message }]
  }),
  // The type of Object.fromEntries has no names; they are those of LINES.
) as Record<GatewayErrorName, GatewayErrorEntry>

export interface GatewayRefusalOptions extends ErrorOptions {
  /** Whole seconds for `Retry-After`, where a better value than 60 is known. */
  readonly retryAfterSeconds?: number
  /** The request may have been processed although it is refused. */
  readonly isOutcomeUncertain?: boolean
  readonly headers?: { readonly [name: string]: string }
}

/** A refusal of the gateway. Thrown anywhere; the edge turns it into the flat error body. */
export class GatewayRefusal extends Error {
  override readonly name = 'GatewayRefusal'
  readonly error: GatewayErrorName
  readonly details: JsonObject | undefined
  readonly retryAfterSeconds: number | undefined
  readonly isOutcomeUncertain: boolean
  readonly headers: { readonly [name: string]: string }

  /** `details` holds member names and booleans only, never input values. */
  constructor(error: GatewayErrorName, details?: JsonObject, options?: GatewayRefusalOptions) {
    super(GATEWAY_ERRORS[error].message, options)
    this.error = error
    this.details = details
    this.retryAfterSeconds = options?.retryAfterSeconds
    this.isOutcomeUncertain = options?.isOutcomeUncertain === true
    this.headers = options?.headers ?? {}
  }
}
