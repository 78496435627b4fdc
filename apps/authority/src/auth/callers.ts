import {
  DAY,
  GATEWAY_CALLER_HEADER,
  MINUTE,
  gatewayCallerBytes,
  readGatewayCaller,
  readInstant,
  verifySignature,
} from '@chancery/protocol'
import { type Database, type Reader, storeTime } from '../database/database.ts'
import { type LimiterName, Refusal } from '@chancery/contract'
import { limitAddress } from '@chancery/service-kit'
import type { Call, Clock, Limiter, Log, NameCaller, SharedRead } from '@chancery/service-kit'
import type { Audit } from '../audit/record.ts'
import type { Versions } from '../database/locks/versions.ts'
import type { RollbackCheck } from '../rollback/rollback-check.ts'
import type { OwnKeys } from '../signing/own-keys.ts'
import type { NonceQueue } from './nonces.ts'
import type { OperatorKeyring, RevokedOperatorKeys } from './operator-keys.ts'

export interface Limits {
  /** Counts over all instances that share a database. */
  readonly shared: Limiter
  /** Counts in this process only: public reads, and once-per-window notes. */
  readonly local: Limiter
  readonly perMinute: Readonly<Record<LimiterName, number>>
}

/** The parts that decide who may call, and how often. */
export interface AuthParts {
  readonly audit: Audit
  readonly clock: Clock
  readonly keys: OwnKeys
  readonly log: Log
  readonly limits: Limits
  readonly nonces: NonceQueue
  /** For operators who revoke: a full disk still takes these. */
  readonly revocationNonces: NonceQueue
  readonly operators: OperatorKeyring
  /** Reads the operators again when their file has changed; undefined when the settings list them. */
  readonly operatorsFile: { refresh(): Promise<void> } | undefined
  readonly revokedOperatorKeys: RevokedOperatorKeys
  readonly rollback: RollbackCheck
  readonly database: Database
  readonly versions: SharedRead<Versions>
}

export interface AccessParts extends AuthParts {
  readonly settings: {
    readonly evidenceStore: boolean
    readonly partners: boolean
    readonly nodeDecisions: 'off' | 'own' | 'partners'
    readonly privilegedRoutes: ReadonlySet<string>
  }
}

const PREFIX = 'operator key used '

/** The last day that this process has stored for each key. */
const stored = new WeakMap<AuthParts['database'], Map<string, bigint>>()

/**
 * Stores the day on which a key was last used: one row for each key, written once a day by each instance. The call goes
 * on when it cannot be stored, because a read must be served while the database takes no writes.
 */
export async function noteUse({ clock, database, log }: AuthParts, key_id: string): Promise<void> {
  const day = clock.now() / DAY
  const days = stored.get(database) ?? new Map<string, bigint>()
  if (days.get(key_id) === day) return
  stored.set(database, days.set(key_id, day))
  try {
    await database.write((tx) => storeTime(tx, `${PREFIX}${key_id}`, day * DAY))
  } catch (error) {
    days.delete(key_id)
    log.warn('cannot store the last use of an operator key', { key_id, error })
  }
}

/** Days of last use by key id, as YYYY-MM-DD. */
export async function readUses(db: Reader): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom('moments').selectAll().where('name', 'like', `${PREFIX}%`).execute()
  return new Map(rows.map(({ name, at }) => [name.slice(PREFIX.length), at.slice(0, 10)]))
}

type BodylessCall = Omit<Call, 'body'>

/**
 * Limits of an operator key: reads, decisions, and revocations that arrived after the admin limit of their address was used up.
 */
export type KeyLimit = 'operator_read' | 'operator_decision' | 'revocation'

const limitOf = new WeakMap<BodylessCall, KeyLimit>()

/** The call counts against a limit of its operator key, once it has proved possession of the key. */
export function countByKey(call: BodylessCall, limit: KeyLimit): void {
  limitOf.set(call, limit)
}

/** Before the nonce is spent, so that a call that is refused anyway leaves no row. */
export async function refuseSpentKey(call: BodylessCall, { limits }: AuthParts, key_id: string): Promise<void> {
  const name = limitOf.get(call)
  if (name === undefined) return
  if (await limits.shared.isOver(keyLimitBucket(name, key_id), limits.perMinute[name]))
    throw new Refusal('rate_limit_exceeded')
}

/** After signature and nonce, so that forged and repeated calls do not use up the limit of a key. */
export async function countKey(call: BodylessCall, { limits }: AuthParts, key_id: string): Promise<void> {
  const name = limitOf.get(call)
  if (name === undefined) return
  if (!(await limits.shared.hit(keyLimitBucket(name, key_id), limits.perMinute[name])))
    throw new Refusal('rate_limit_exceeded')
}

export function keyLimitBucket(name: KeyLimit, key_id: string): string {
  return `${name} ${key_id}`
}

/** Signatures that do not verify, of one address in a minute. After them its header is not looked at. */
const FAILURES_PER_MINUTE = 10

/**
 * Whom limits count when a trusted gateway forwards the call: the caller that the gateway names. Otherwise all callers
 * of a gateway share the limits of its address. Without a valid, current signature of a configured key
 * the address counts. Undefined when no gateway is trusted.
 */
export function nameCallers(
  { clock, keys, limits }: Pick<AuthParts, 'clock' | 'keys' | 'limits'>,
  gatewayKeys: ReadonlySet<string>,
): NameCaller | undefined {
  if (gatewayKeys.size === 0) return undefined
  return async ({ headers, method, remoteAddress }, target) => {
    const [value, ...others] = headers.all(GATEWAY_CALLER_HEADER)
    const found = value === undefined || others.length > 0 ? undefined : readGatewayCaller(value)
    if (found === undefined || !gatewayKeys.has(found.gateway)) return undefined
    const age = clock.now() - (readInstant(found.created) ?? 0n)
    if (age > MINUTE || age < -MINUTE) return undefined
    const bucket = `gateway-caller-fail ${limitAddress(remoteAddress)}`
    if (await limits.local.isOver(bucket, FAILURES_PER_MINUTE)) return undefined
    for (const audience of keys.audiences) {
      const signed = gatewayCallerBytes({ ...found, audience, method, target })
      if (await verifySignature(found.gateway, signed, found.signature))
        return `gateway ${found.gateway} ${found.caller}`
    }
    await limits.local.hit(bucket, FAILURES_PER_MINUTE)
    return undefined
  }
}
