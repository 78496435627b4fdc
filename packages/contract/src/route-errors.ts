import type { ErrorCode } from './errors.ts'
import type { Route } from './route.ts'

/** Returns every code that a route can answer: those of its access, limit and body, and its own. */
export function errorCodesOf(route: Route): readonly ErrorCode[] {
  const codes: ErrorCode[] = [
    'bad_request',
    'request_header_fields_too_large',
    'internal_server_error',
    'service_unavailable',
    'signing_unavailable',
  ]
  if (route.limit !== 'none') codes.push('rate_limit_exceeded')
  if (route.method !== 'GET')
    codes.push('invalid_json', 'invalid_json_object', 'unexpected_field', 'request_entity_too_large')
  if (route.method !== 'GET') codes.push('unsupported_media_type', 'request_timeout', 'too_many_verifications')
  if (route.access.includes('operator:')) codes.push('admin_auth_failed', 'admin_auth_throttled')
  // A standard route asks for a privileged key where NA_PRIVILEGED_ROUTES names it.
  if (route.access.startsWith('operator:')) codes.push('insufficient_operator_tier')
  if (route.access === 'node') codes.push('node_auth_failed')
  // Another body under the same Idempotency-Key.
  if (route.repeatable === true) codes.push('conflict')
  const own = [...(Object.keys(route.statuses ?? {}) as ErrorCode[]), ...(route.errors ?? [])]
  return [...new Set([...codes, ...own])]
}
