import { setImmediate } from 'node:timers/promises'
import { type BodyForm, Refusal, type RefusalCode } from '@chancery/contract'
import {
  FormError,
  field,
  grantedRoles,
  isPlainText,
  isRoleAllowed,
  readInstant,
  readPublicKey,
  readTrustedPublicKey,
  shape,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, Verdict } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Core } from '../core.ts'

/**
 * Logs and counts the result of a verify route. It writes no row, because unauthenticated callers must not fill the
 * database.
 */
export function recordVerification(
  call: Call,
  parts: Pick<Core, 'log' | 'metrics'>,
  accepted: boolean,
  reason: string,
): void {
  parts.metrics.verifications.with({ route: call.routeId, accepted: accepted ? 'true' : 'false' }).increase()
  parts.log.info('verified', { route: call.routeId, request_id: call.requestId, accepted, reason })
}

/** Logs and counts a verdict, and returns the members that state it in a response: `valid` or `accepted`, and why. */
export function respondVerdict(
  call: Call,
  parts: Pick<Core, 'log' | 'metrics'>,
  verdict: Verdict<string>,
  word: 'accepted' | 'valid',
): JsonObject {
  const reason = verdict.ok ? word : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  return { [word]: verdict.ok, reason }
}

/** A mistyped limit must not silently become the default (protocol/core 11.3). */
export function refuseUnknownMembers(body: JsonObject, known: readonly string[]): void {
  const unknown = Object.keys(body).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Refusal('unexpected_field', { fields: unknown.slice(0, 64).map(shorten) })
}

/** Runs a protocol reader. A malformed value is refused with the code of its field. */
export function readOrRefuse<Value>(code: RefusalCode, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof FormError)
      throw new Refusal(code, error.field === '' ? {} : { field: shorten(error.field) }, { cause: error })
    throw error
  }
}

/** Reads a body by the form of its route. */
export function readForm<Value>(form: BodyForm<Value>, body: JsonObject): Value {
  refuseUnknownMembers(body, form.names)
  return readOrRefuse(form.code, () => form.read(body, ''))
}

/** Reads one member of a body, or its default when it is absent. Null is a wrong type unless the reader accepts it. */
export function readMember<Value>(
  value: JsonValue | undefined,
  absent: Value,
  read: (value: JsonValue, field: string) => Value,
  code: RefusalCode,
): Value {
  return value === undefined ? absent : readOrRefuse(code, () => read(value, ''))
}

/** The reason for revoking a record or key: free text of at most 256 characters, `unspecified` when absent. */
export function readReason(body: JsonObject): string {
  const reason = body['reason'] === undefined ? 'unspecified' : body['reason']
  if (typeof reason !== 'string' || !isPlainText(reason, 256)) throw new Refusal('invalid_input', { field: 'reason' })
  return reason
}

/** `dry_run: true` returns what would happen and changes nothing. */
export function readDryRun(body: JsonObject): boolean {
  return readMember(body['dry_run'], false, shape.boolean, 'invalid_input')
}

/** Roles that may be granted here: well-formed, without repetition, and within NA_ALLOWED_ROLES. */
export function readGrantedRoles(value: JsonValue, min: number, allowed: readonly string[]): readonly string[] {
  const roles = readOrRefuse('invalid_role', () => grantedRoles(min)(value, ''))
  if (!roles.every((role) => isRoleAllowed(role, allowed))) throw new Refusal('invalid_role')
  return roles
}

export function readValidityHours(value: JsonValue | undefined, absent: number, max: number): number {
  return readMember(value, absent, shape.integer(1, max), 'invalid_validity_hours')
}

/**
 * Keys to be stored are checked in full, prime order included. Each check takes milliseconds, so the event loop
 * continues in between.
 */
export async function areStrongKeys(keys: readonly string[]): Promise<boolean> {
  for (const key of keys) {
    if (readTrustedPublicKey(key) === undefined) return false
    await setImmediate()
  }
  return true
}

/** As many as a treaty may name. More would make one unauthenticated call cost many verifications. */
const MAX_KEYS = 16

/** A list of public keys to verify with; absent, null and empty mean none. */
export function readKeyList(value: JsonValue | undefined): readonly string[] {
  if (value === undefined || value === null) return []
  const isList = Array.isArray(value) && value.length <= MAX_KEYS && value.every(isPublicKeyText)
  if (!isList) throw new Refusal('invalid_public_keys')
  return value
}

/** A required member of a trust operation: a missing one and null are both absent (protocol/trust-operations 1.5). */
export function requirePresent(body: JsonObject, name: string, code: RefusalCode): JsonValue {
  const value = body[name]
  if (value === undefined || value === null) throw new Refusal(code, { field: name })
  return value
}

/** Converts a time with an offset; without one it is UTC. Signed times always have one form. */
export function readTime(body: JsonObject, name: string): Instant {
  const value = body[name]
  const instant = typeof value === 'string' ? readInstant(value) : undefined
  if (instant === undefined) throw new Refusal('invalid_timestamps', { field: name })
  return instant
}

/** Up to 64 keys to verify a trust record with; absent, null and empty mean the default of the route. */
export function readTrustKeys(body: JsonObject, name: string, absent: readonly string[]): readonly string[] {
  const keys = readOrRefuse('invalid_public_keys', () => field.publicKeys(body[name] ?? [], name))
  return keys.length === 0 ? absent : keys
}

export function isPublicKeyText(value: JsonValue): value is string {
  return typeof value === 'string' && readPublicKey(value) !== undefined
}

/** A caller's text as it may be returned to the caller: whole characters, and a limited number of them. */
export function shorten(text: string): string {
  return Array.from(text.slice(0, 512)).slice(0, 128).join('').toWellFormed()
}
