import type { Reply } from './send-request.ts'

/** Explains a response and what to do about it. */
export interface Explanation {
  readonly by: 'gateway' | 'authority'
  readonly code: string
  readonly sentence: string
}

interface Failure {
  readonly error?: string | { readonly code?: string; readonly message?: string }
  readonly code?: string
  readonly reason?: string
  readonly outcome_uncertain?: boolean
}

/** By the gateway's stable reason (protocol/gateway 6). */
const GATEWAY: Readonly<Record<string, string>> = {
  credential_missing: 'The gateway refused the token. Enter one.',
  credential_invalid: 'The gateway refused the token: it is mistyped, was removed, or belongs to another gateway.',
  credential_expired: 'The token has expired. Ask the operator of the gateway for a new one.',
  operator_signature_required: 'The operation needs an operator signature: give a key or paste the four headers.',
  network_scope: 'This token is not scoped to the network.',
  service_scope: 'This token is not scoped to the operation.',
  admin_scope: 'This token may not forward operator-signed operations.',
  metrics_scope: 'This token may not read metrics.',
  client_certificate: 'This token is bound to a client certificate that was not presented.',
  client_quota: 'The quota of this token is used up for the current minute.',
  certificate_quota: 'The certificate quota of this token is used up for the current minute.',
  auth_throttled: 'Too many refused tokens came from this address, so the gateway no longer checks tokens from it.',
  parameter_missing: 'A parameter of the path is missing.',
  parameter_invalid: 'A parameter contains a character that the gateway does not forward.',
  query_not_allowed: 'The operation does not accept one of these query parameters.',
  body_object_required: 'The operation needs a JSON object as its body.',
  invalid_json: 'The body is not valid JSON.',
  authority_unreachable: 'The gateway could not reach the authority.',
  authority_timeout: 'The authority did not respond in time.',
  authority_redirect: 'The authority responded with a redirect, which the gateway never follows. Check authority_url.',
  authority_error: 'The authority has an internal error.',
  authority_response_too_large:
    'The response of the authority is larger than the gateway forwards. Request less, with a limit.',
  authority_invalid_response: 'The server at the address of the authority is not an authority.',
  overloaded: 'The gateway has too many open requests.',
  crypto_capacity: 'The gateway has too many open verifications.',
  batch_capacity: 'The gateway has too many open batches.',
  state_unavailable: 'The durable state of the gateway is not usable, so it refuses all requests.',
  deadline: 'The request took longer than the gateway allows.',
  audit_unavailable: 'The gateway could not write its audit event, so it refused the request.',
  quota_backend: 'The gateway could not count this request, so it refused the request.',
  authority_not_configured: 'The gateway has no address for this authority.',
  not_ready: 'The gateway is not ready. See the failed checks below.',
}

/** By the authority's stable code. */
const AUTHORITY: Readonly<Record<string, string>> = {
  admin_auth_throttled: 'The authority limits operator signatures, because too many were refused.',
  rate_limit_exceeded: 'The authority limits this gateway. All callers of the gateway share one limit.',
  insufficient_operator_tier: 'The signature is valid, but this operator key lacks the tier for the operation.',
}

const BY_STATUS: Readonly<Record<number, string>> = {
  401: 'The authority refused the signature. Check the key id, the seed and the clock of this computer; a revoked key and a used nonce are refused too.',
  403: 'The authority does not allow this.',
  404: 'The authority has nothing under this name.',
  409: 'The request conflicts with stored data of the authority.',
  429: 'The authority limits this gateway for now.',
}

/** Effect of a request that failed between gateway and authority. */
function effectOf({ reason, outcome_uncertain }: Failure): string {
  if (outcome_uncertain === true)
    return 'The operation may have been executed. Check the authority before you repeat it.'
  return reason === 'authority_unreachable' ? 'The operation was not executed.' : ''
}

/** Returns undefined for a response that is not a failure. */
export function explainReply(reply: Reply): Explanation | undefined {
  if (reply.status < 400) return undefined
  const failure = readFailure(reply.text)
  // Gateway errors are flat, authority errors are nested: the type of `error` shows which service responded.
  const nested = typeof failure.error === 'object' ? failure.error : undefined
  const code = nested?.code ?? failure.reason ?? failure.code ?? ''
  const known = nested === undefined ? GATEWAY[code] : (AUTHORITY[code] ?? BY_STATUS[reply.status])
  const said = nested === undefined ? failure.error : nested.message
  const parts = [
    known ?? (typeof said === 'string' && said !== '' ? said : `The response has status ${reply.status}.`),
    known !== undefined && nested !== undefined && typeof nested.message === 'string'
      ? `Message: ${nested.message}`
      : '',
    nested === undefined ? effectOf(failure) : '',
    waitOf(reply),
  ]
  return {
    by: nested === undefined ? 'gateway' : 'authority',
    code,
    sentence: parts.filter((part) => part !== '').join(' '),
  }
}

function waitOf({ retryAfter }: Reply): string {
  const seconds = Number(retryAfter ?? '')
  if (retryAfter === undefined || !Number.isInteger(seconds) || seconds <= 0) return ''
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
}

function readFailure(text: string): Failure {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
