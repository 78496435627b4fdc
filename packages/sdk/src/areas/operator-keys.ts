import { operatorKeys } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json, known } from '../answer.ts'
import type { CallOptions, Connection } from '../call.ts'

/** protocol/core 12; the last three are undefined when the key was revoked before. */
export interface OperatorKeyRevocation {
  readonly key_id: string
  readonly revoked: boolean
  readonly already_revoked: boolean
  readonly revoked_at: string | undefined
  readonly reason: string | undefined
  readonly remaining_active_keys: number | undefined
}

export interface OperatorKeysArea {
  /** Final, and in force from the next request on. Repeating it changes nothing. */
  revoke(keyId: string, request?: { readonly reason?: string }, options?: CallOptions): Promise<OperatorKeyRevocation>
}

const readRevocation = known({
  key_id: shape.required(shape.string),
  revoked: shape.required(shape.boolean),
  already_revoked: shape.required(shape.boolean),
  revoked_at: shape.withDefault<string | undefined>(shape.string, undefined),
  reason: shape.withDefault<string | undefined>(shape.string, undefined),
  remaining_active_keys: shape.withDefault<number | undefined>(shape.integer(0, Number.MAX_SAFE_INTEGER), undefined),
})

export function operatorKeysArea({ call }: Connection): OperatorKeysArea {
  return {
    revoke: (keyId, { reason } = {}, options) =>
      call({
        route: operatorKeys.revoke,
        params: { key_id: keyId },
        body: reason === undefined ? {} : { reason },
        repeatable: true,
        read: json((value) => readRevocation(value, '')),
        options,
      }),
  }
}
