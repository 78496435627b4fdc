import { operatorKeys } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { preview } from '../http/dry-run.ts'
import { type DryRun, type RealRun, isDryRun } from './dry-run.ts'

/** protocol/core 12; revoked_at, reason and the numbers are undefined when the key was revoked before. */
export interface OperatorKeyRevocation {
  readonly key_id: string
  readonly revoked: boolean
  readonly already_revoked: boolean
  readonly revoked_at: string | undefined
  readonly reason: string | undefined
  readonly remaining_active_keys: number | undefined
  readonly remaining_privileged_keys: number | undefined
  /** Only when it was requested. */
  readonly withdrawn_invites: number | undefined
  /** Only when it was requested. */
  readonly removed_rules: number | undefined
}

/** The numbers are null when the key was revoked before. */
export type OperatorKeyPreview = {
  readonly dry_run: true
  readonly key_id: string
  readonly would_change: boolean
  readonly remaining_active_keys: number | null
  readonly remaining_privileged_keys: number | null
  /** Invites it made that can still be used; null from an authority that does not report them. */
  readonly open_invites: number | null
  /** Admission rules it added that are in force; null from an authority that does not report them. */
  readonly active_rules: number | null
}

export interface OperatorKeyRequest {
  readonly reason?: string
  /** Also revokes the last privileged key; only with a reason. The last usable key cannot be revoked. */
  readonly force?: boolean
  /** Also withdraws the invites it made that can still be used. */
  readonly withdraw_invites?: boolean
  /** Also removes the admission rules it added. */
  readonly remove_rules?: boolean
}

/** Actions of a key, counted from the audit log. */
export interface OperatorKeyActivity {
  readonly key_id: string
  readonly revoked: boolean
  readonly from: string
  readonly until: string
  /** False when there were too many events to count: then `from` is later than requested. */
  readonly complete: boolean
  readonly events: readonly {
    readonly event_type: string
    readonly count: number
    readonly first_at: string
    readonly last_at: string
  }[]
  readonly open_invites: number
  /** Admission rules it added that are in force; null from an authority that does not report them. */
  readonly active_rules: number | null
}

/** A key that is configured or was revoked. Key and tier are null when it is no longer configured. */
export interface OperatorKeyRow {
  readonly key_id: string
  readonly public_key: string | null
  readonly tier: string | null
  readonly usable: boolean
  readonly revoked_at: string | null
  readonly reason: string | null
  readonly revoked_by: string | null
  /** A day, YYYY-MM-DD; null when no use is stored. */
  readonly last_used: string | null
}

export interface OperatorKeyList {
  readonly count: number
  readonly operator_keys: readonly OperatorKeyRow[]
}

export interface OperatorLimit {
  readonly limit: number
  readonly left: number
  readonly window_seconds: number
  /** `operator key` or `address`. */
  readonly counted_by: string
}

/** The key that signed the request, and the settings that operators work with. */
export interface OperatorIdentity {
  readonly key_id: string
  readonly public_key: string
  readonly tier: string
  readonly network: string
  readonly server_time: string
  readonly limits: {
    readonly operator_read: OperatorLimit
    /** Undefined from an authority of an earlier release. */
    readonly operator_decision: OperatorLimit | undefined
    readonly admin: OperatorLimit
    readonly revocation: OperatorLimit
  }
  /** Empty when any role may be invited. */
  readonly allowed_roles: readonly string[]
  readonly heartbeat_seconds: number
  readonly silent_after_seconds: number
  readonly renewal_grace_seconds: number
  readonly console_key_idle_minutes: number
  readonly passkeys: boolean
}

export interface OperatorKeysApi {
  /** Lists configured and revoked operator keys, by id. */
  list(options?: CallOptions): Promise<OperatorKeyList>
  /** Returns the key that signs the requests of this client, with its tier and what is left of its limits. */
  whoami(options?: CallOptions): Promise<OperatorIdentity>
  /** Previews how many keys would be left; refused as the revocation itself would be. */
  revoke(keyId: string, request: OperatorKeyRequest & DryRun, options?: CallOptions): Promise<OperatorKeyPreview>
  /** Permanent, and in force from the next request on. A repeat changes nothing. */
  revoke(keyId: string, request?: OperatorKeyRequest & RealRun, options?: CallOptions): Promise<OperatorKeyRevocation>
  /** Returns the actions of the key within the last days, 30 when left out. */
  activity(keyId: string, query?: { readonly days?: number }, options?: CallOptions): Promise<OperatorKeyActivity>
}

const count = shape.integer(0, Number.MAX_SAFE_INTEGER)

const readRevocation = known({
  key_id: shape.required(shape.string),
  revoked: shape.required(shape.boolean),
  already_revoked: shape.required(shape.boolean),
  revoked_at: shape.withDefault<string | undefined>(shape.string, undefined),
  reason: shape.withDefault<string | undefined>(shape.string, undefined),
  remaining_active_keys: shape.withDefault<number | undefined>(count, undefined),
  remaining_privileged_keys: shape.withDefault<number | undefined>(count, undefined),
  withdrawn_invites: shape.withDefault<number | undefined>(count, undefined),
  removed_rules: shape.withDefault<number | undefined>(count, undefined),
})

const readPreview = known({
  dry_run: shape.required(isDryRun),
  key_id: shape.required(shape.string),
  would_change: shape.required(shape.boolean),
  remaining_active_keys: shape.withDefault(shape.nullable(count), null),
  remaining_privileged_keys: shape.withDefault(shape.nullable(count), null),
  open_invites: shape.withDefault(shape.nullable(count), null),
  active_rules: shape.withDefault(shape.nullable(count), null),
})

const word = shape.required(shape.string)

const readActivity = known({
  key_id: word,
  revoked: shape.required(shape.boolean),
  from: word,
  until: word,
  complete: shape.required(shape.boolean),
  events: shape.required(
    shape.arrayOf(known({ event_type: word, count: shape.required(count), first_at: word, last_at: word }), {
      max: 1000,
    }),
  ),
  open_invites: shape.required(count),
  active_rules: shape.withDefault(shape.nullable(count), null),
})

const words = shape.required(shape.nullable(shape.string))
const number = shape.required(count)

const readList = known({
  count: number,
  operator_keys: shape.required(
    shape.arrayOf(
      known({
        key_id: word,
        public_key: words,
        tier: words,
        usable: shape.required(shape.boolean),
        revoked_at: words,
        reason: words,
        revoked_by: words,
        last_used: words,
      }),
      { max: 100_000 },
    ),
  ),
})

const readLimit = known({ limit: number, left: number, window_seconds: number, counted_by: word })
const limit = shape.required(readLimit)
const newerLimit = shape.withDefault<OperatorLimit | undefined>(readLimit, undefined)

const readIdentity = known({
  key_id: word,
  public_key: word,
  tier: word,
  network: word,
  server_time: word,
  limits: shape.required(
    known({ operator_read: limit, operator_decision: newerLimit, admin: limit, revocation: limit }),
  ),
  allowed_roles: shape.required(shape.arrayOf(shape.string, { max: 10_000 })),
  heartbeat_seconds: number,
  silent_after_seconds: number,
  renewal_grace_seconds: number,
  console_key_idle_minutes: number,
  passkeys: shape.required(shape.boolean),
})

export function operatorKeysApi(connection: Connection): OperatorKeysApi {
  const { call } = connection
  function revoke(
    keyId: string,
    request: OperatorKeyRequest & DryRun,
    options?: CallOptions,
  ): Promise<OperatorKeyPreview>
  function revoke(
    keyId: string,
    request?: OperatorKeyRequest & RealRun,
    options?: CallOptions,
  ): Promise<OperatorKeyRevocation>
  function revoke(
    keyId: string,
    { reason, force, withdraw_invites, remove_rules, dryRun }: OperatorKeyRequest & { dryRun?: boolean } = {},
    options?: CallOptions,
  ): Promise<OperatorKeyPreview | OperatorKeyRevocation> {
    const facts = { route: operatorKeys.revoke, params: { key_id: keyId }, repeatable: true, options }
    if (dryRun !== true)
      return call({
        ...facts,
        body: omitUndefined({ reason, force, withdraw_invites, remove_rules }),
        read: json((value) => readRevocation(value, '')),
      })
    return preview(connection, {
      ...facts,
      body: omitUndefined({ reason, force, withdraw_invites, remove_rules, dry_run: true }),
      read: json((value) => readPreview(value, '')),
    })
  }
  return {
    list: (options) => call({ route: operatorKeys.list, read: json((value) => readList(value, '')), options }),
    whoami: (options) => call({ route: operatorKeys.whoami, read: json((value) => readIdentity(value, '')), options }),
    revoke,
    activity: (keyId, query = {}, options) =>
      call({
        route: operatorKeys.activity,
        params: { key_id: keyId },
        query: { ...query },
        read: json((value) => readActivity(value, '')),
        options,
      }),
  }
}
