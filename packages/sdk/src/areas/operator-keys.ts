import { operatorKeys } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json, known } from '../answer.ts'
import type { CallOptions, Connection } from '../call.ts'
import { given } from '../given.ts'
import { isDryRun } from './dry-run.ts'
import type { DryRun, RealRun } from './dry-run.ts'

/** protocol/core 12; the last three are undefined when the key was revoked before. */
export interface OperatorKeyRevocation {
  readonly key_id: string
  readonly revoked: boolean
  readonly already_revoked: boolean
  readonly revoked_at: string | undefined
  readonly reason: string | undefined
  readonly remaining_active_keys: number | undefined
}

/** The number is null when the key was revoked before. */
export type OperatorKeyForecast = {
  readonly dry_run: true
  readonly key_id: string
  readonly would_change: boolean
  readonly remaining_active_keys: number | null
}

export interface OperatorKeysArea {
  /** How many keys would be left; refused as the revocation itself would be. */
  revoke(
    keyId: string,
    request: { readonly reason?: string } & DryRun,
    options?: CallOptions,
  ): Promise<OperatorKeyForecast>
  /** Final, and in force from the next request on. Repeating it changes nothing. */
  revoke(
    keyId: string,
    request?: { readonly reason?: string } & RealRun,
    options?: CallOptions,
  ): Promise<OperatorKeyRevocation>
}

const count = shape.integer(0, Number.MAX_SAFE_INTEGER)

const readRevocation = known({
  key_id: shape.required(shape.string),
  revoked: shape.required(shape.boolean),
  already_revoked: shape.required(shape.boolean),
  revoked_at: shape.withDefault<string | undefined>(shape.string, undefined),
  reason: shape.withDefault<string | undefined>(shape.string, undefined),
  remaining_active_keys: shape.withDefault<number | undefined>(count, undefined),
})

const readForecast = known({
  dry_run: shape.required(isDryRun),
  key_id: shape.required(shape.string),
  would_change: shape.required(shape.boolean),
  remaining_active_keys: shape.withDefault(shape.nullable(count), null),
})

export function operatorKeysArea({ call }: Connection): OperatorKeysArea {
  function revoke(
    keyId: string,
    request: { reason?: string } & DryRun,
    options?: CallOptions,
  ): Promise<OperatorKeyForecast>
  function revoke(
    keyId: string,
    request?: { reason?: string } & RealRun,
    options?: CallOptions,
  ): Promise<OperatorKeyRevocation>
  function revoke(
    keyId: string,
    { reason, dryRun }: { reason?: string; dryRun?: boolean } = {},
    options?: CallOptions,
  ): Promise<OperatorKeyForecast | OperatorKeyRevocation> {
    const facts = { route: operatorKeys.revoke, params: { key_id: keyId }, repeatable: true, options }
    if (dryRun !== true)
      return call({ ...facts, body: given({ reason }), read: json((value) => readRevocation(value, '')) })
    return call({
      ...facts,
      body: given({ reason, dry_run: true }),
      read: json((value) => readForecast(value, '')),
    })
  }
  return { revoke }
}
