import { OPERATOR_HEADERS, OPERATOR_HEADER_MAX_CHARACTERS, Refusal, SERVER_LIMITS, limiterOf } from '@chancery/contract'
import type { AuditEventType } from '@chancery/contract'
import { CLOCK_TOLERANCE, isKeyId, isNonce, readInstant, verifyOperatorRequest } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { type Call, noteCaller } from '@chancery/service-kit'
import { requestDetails } from '../audit/record.ts'
import { type AuthParts, countKey, noteUse, refuseSpentKey } from './callers.ts'
import { consumeNonce } from './nonces.ts'
import { type OperatorKey, type Tier, satisfiesTier } from './operator-keys.ts'
import { refuseBelowFloor } from './node.ts'

type BodylessCall = Omit<Call, 'body'>

export type OperatorCall = Call & { readonly operator: OperatorKey }

interface Credentials {
  readonly key_id: string
  readonly timestamp: string
  readonly nonce: string
  readonly signature: string
}

type FailureReason =
  | 'oversized_headers'
  | 'missing_headers'
  | 'unknown_key'
  | 'revoked_key'
  | 'invalid_timestamp'
  | 'stale_timestamp'
  | 'invalid_signature'
  | 'nonce_replay'

/**
 * True when any of the four headers is present. Such a call is authenticated as an operator call, never served as an
 * unauthenticated one.
 */
export function hasOperatorHeaders(call: Pick<Call, 'headers'>): boolean {
  return Object.values(OPERATOR_HEADERS).some((name) => call.headers.all(name).length > 0)
}

/**
 * Checks 4 to 12 of protocol/core 11.3, in their order (access.ts counts 1 and 2 before the body is read). The order
 * matters for security: revoked keys before signature work, signature before the nonce table, nonce before tier.
 */
export async function authenticateOperator(call: Call, parts: AuthParts, required: Tier): Promise<OperatorCall> {
  const { credentials, operator, signedAt } = await screenOperator(call, parts)
  await checkSignature(call, parts, credentials, operator)
  // Only a caller with a valid signature learns of the recovery. A forged call counts as a failure.
  refuseBelowFloor(parts, signedAt)
  await refuseSpentKey(call, parts, operator.key_id)
  await spendNonce(call, parts, credentials, signedAt)
  noteCaller(call, 'operator')
  await countKey(call, parts, operator.key_id)
  await noteUse(parts, operator.key_id)
  await requireTier(call, parts, operator, required)
  return Object.assign(call, { operator })
}

interface Screened {
  readonly credentials: Credentials
  readonly operator: OperatorKey
  readonly signedAt: Instant
}

/** What it takes to refuse a call, and to count that. */
type FailureParts = Pick<AuthParts, 'audit' | 'limits' | 'operators'>

/**
 * Checks 4 to 9, which need no body. A large body is read only after them, and they are repeated with it, because a key
 * may have been revoked in between.
 */
export async function screenOperator(call: BodylessCall, parts: AuthParts): Promise<Screened> {
  // Before the key is looked up: a removed operator is refused from the next request on.
  await parts.operatorsFile?.refresh()
  const credentials = await readCredentials(call, parts)
  if (isLarge(call)) await refuseLargeForger(call, parts)
  await refuseThrottledKey(call, parts, credentials.key_id)
  const operator = await findUsableKey(call, parts, credentials.key_id)
  const signedAt = await checkTimestamp(call, parts, credentials)
  return { credentials, operator, signedAt }
}

/** 2. An address with too many failures is refused before any other work. */
export async function refuseThrottledAddress(call: BodylessCall, parts: FailureParts): Promise<void> {
  if (await parts.limits.shared.isOver(addressBucket(call), failureLimit(parts))) {
    await refuseThrottled(call, parts, addressBucket(call), {})
  }
}

/** The cost of a forged call grows with its body, so fewer large ones are tolerated. */
const LARGE_FORGERIES_PER_MINUTE = 2

async function refuseLargeForger(call: BodylessCall, parts: FailureParts): Promise<void> {
  const bucket = largeBucket(call)
  if (await parts.limits.local.isOver(bucket, LARGE_FORGERIES_PER_MINUTE)) {
    await refuseThrottled(call, parts, bucket, {})
  }
}

/** As the header states. A body without a length counts as a large one. */
function isLarge({ headers }: BodylessCall): boolean {
  const length = headers.get('content-length')
  const isPresent = length !== undefined || headers.get('transfer-encoding') !== undefined
  return isPresent && !(Number(length) < SERVER_LIMITS.queuedBodyBytes)
}

/** 4 and 5. Size and number are checked first. A key id or nonce outside its grammar counts as missing. */
async function readCredentials(call: BodylessCall, parts: FailureParts): Promise<Credentials> {
  const values = Object.values(OPERATOR_HEADERS).map((name) => call.headers.all(name))
  const isOversized = values.some((all) => all.length > 1 || (all[0]?.length ?? 0) > OPERATOR_HEADER_MAX_CHARACTERS)
  const [key_id = '', timestamp = '', nonce = '', signature = ''] = values.map((all) => all[0] ?? '')
  if (isOversized) return fail(call, parts, key_id, 'oversized_headers')
  if (!isKeyId(key_id) || timestamp === '' || !isNonce(nonce) || signature === '') {
    return fail(call, parts, key_id, 'missing_headers')
  }
  return { key_id, timestamp, nonce, signature }
}

/** 6. The same for one configured key from one address, so that an attacker cannot lock a key for all addresses. */
async function refuseThrottledKey(call: BodylessCall, parts: FailureParts, key_id: string): Promise<void> {
  if (!parts.operators.has(key_id)) return
  const bucket = keyBucket(call, key_id)
  if (await parts.limits.shared.isOver(bucket, failureLimit(parts)))
    await refuseThrottled(call, parts, bucket, { key_id })
}

/** 7. Configured and not revoked, as of now on every instance. One message for both, so that ids cannot be probed. */
async function findUsableKey(call: BodylessCall, parts: AuthParts, key_id: string): Promise<OperatorKey> {
  const key = parts.operators.get(key_id)
  if (key === undefined) return fail(call, parts, key_id, 'unknown_key')
  const versions = await parts.versions.read()
  if (await parts.revokedOperatorKeys.has(parts, key, versions)) return fail(call, parts, key_id, 'revoked_key')
  return key
}

/** For calls that read state later: refuses a key that was revoked since the call was authenticated. */
export async function requireKeyInForce(
  call: OperatorCall,
  parts: FailureParts & Pick<AuthParts, 'database' | 'revokedOperatorKeys' | 'versions'>,
): Promise<void> {
  const versions = await parts.versions.read()
  if (await parts.revokedOperatorKeys.has(parts, call.operator, versions)) await refuseRevokedKey(call, parts)
}

/** The same response and event for a key that was revoked during the request. */
export function refuseRevokedKey(call: OperatorCall, parts: FailureParts): Promise<never> {
  return fail(call, parts, call.operator.key_id, 'revoked_key')
}

/** 8 and 9. */
async function checkTimestamp(
  call: BodylessCall,
  parts: AuthParts,
  { key_id, timestamp }: Credentials,
): Promise<Instant> {
  const signedAt = readInstant(timestamp)
  if (signedAt === undefined) return fail(call, parts, key_id, 'invalid_timestamp')
  const age = parts.clock.now() - signedAt
  if (age > CLOCK_TOLERANCE || age < -CLOCK_TOLERANCE) return fail(call, parts, key_id, 'stale_timestamp')
  return signedAt
}

/** 10. Against the one key of the named id, over exactly the executed request. */
async function checkSignature(
  call: Call,
  parts: AuthParts,
  credentials: Credentials,
  operator: OperatorKey,
): Promise<void> {
  const { key_id, timestamp, nonce, signature } = credentials
  const request = {
    method: call.method,
    path: call.path,
    query: call.query.toObject(),
    body: call.body,
    key_id,
    timestamp,
    nonce,
  }
  // The current key first. An operator that has not received a key succession yet signs for a former one.
  for (const audience of parts.keys.audiences)
    if (await verifyOperatorRequest({ ...request, audience }, signature, operator.bytes)) return
  await fail(call, parts, key_id, 'invalid_signature')
}

/** 11. Spent in a separate committed write: one signed request is attempted at most once, whatever happens later. */
async function spendNonce(
  call: Call,
  parts: AuthParts,
  { key_id, nonce }: Credentials,
  signedAt: Instant,
): Promise<void> {
  const isFresh = await consumeNonce(parts.nonces, `admin:${key_id}`, nonce, signedAt)
  if (!isFresh) await fail(call, parts, key_id, 'nonce_replay', { nonce })
}

/** 12. Also for a member of a body that needs a higher tier than its route. */
export async function requireTier(
  call: Call,
  parts: Pick<AuthParts, 'audit'>,
  operator: OperatorKey,
  required: Tier,
): Promise<void> {
  if (satisfiesTier(operator.tier, required)) return
  const details = {
    key_id: operator.key_id,
    reason: 'insufficient_operator_tier',
    holder_tier: operator.tier,
    required_tier: required,
  }
  await recordFailure(call, parts, 'admin_authz_denied', details, operator.key_id)
  throw new Refusal('insufficient_operator_tier')
}

/** Counts the failure, audits it and returns 401. The response is the same for every reason but step 7. */
async function fail(
  call: BodylessCall,
  parts: FailureParts,
  key_id: string,
  reason: FailureReason,
  more: JsonObject = {},
): Promise<never> {
  const limit = failureLimit(parts)
  await parts.limits.shared.hit(addressBucket(call), limit)
  if (parts.operators.has(key_id)) await parts.limits.shared.hit(keyBucket(call, key_id), limit)
  if (reason === 'invalid_signature' && isLarge(call))
    await parts.limits.local.hit(largeBucket(call), LARGE_FORGERIES_PER_MINUTE)
  const named = { key_id: key_id.slice(0, 256) || 'missing', reason, ...more }
  // Found after the signature: the key is proved.
  await recordFailure(call, parts, 'admin_auth_failed', named, reason === 'nonce_replay' ? key_id : undefined)
  const unknown = reason === 'unknown_key' || reason === 'revoked_key'
  throw new Refusal('admin_auth_failed', {}, unknown ? { message: 'Unknown admin key' } : {})
}

/** One event per scope and window: a flood of refused calls must not become a flood of rows. */
async function refuseThrottled(
  call: BodylessCall,
  parts: FailureParts,
  bucket: string,
  details: JsonObject,
): Promise<never> {
  if (await parts.limits.local.hit(`throttle-audit ${bucket}`, 1)) {
    await recordFailure(call, parts, 'admin_auth_throttled', { reason: 'too_many_failures', ...details })
  }
  throw new Refusal('admin_auth_throttled')
}

async function recordFailure(
  call: BodylessCall,
  parts: Pick<AuthParts, 'audit'>,
  type: AuditEventType,
  details: JsonObject,
  key?: string,
): Promise<void> {
  const cause = { scope: call.routeId, ...requestDetails(call) }
  await parts.audit.recordRefusal({ type, details: { ...details, ...cause } }, call, key)
}

function failureLimit({ limits }: FailureParts): number {
  return limits.perMinute['admin_auth_failed'] ?? limiterOf('admin_auth_failed').default
}

function addressBucket(call: BodylessCall): string {
  return `admin_auth_failed ${call.limitKey}`
}

function largeBucket(call: BodylessCall): string {
  return `admin_auth_failed_large ${call.limitKey}`
}

function keyBucket(call: BodylessCall, key_id: string): string {
  return `${addressBucket(call)} ${key_id}`
}
