import { crl } from '@chancery/contract'
import { readCrl, shape } from '@chancery/protocol'
import type { Crl, RevocationReason } from '@chancery/protocol'
import { json, known } from '../answer.ts'
import type { CallOptions, Connection, WriteOptions } from '../call.ts'
import { RequestError } from '../errors.ts'

export interface RevocationRequest {
  /** One certificate, or up to 1000 in one version of the list; an unknown id among them changes nothing. */
  readonly cert_ids: readonly [string, ...string[]]
  readonly reason?: RevocationReason
}

export interface RevocationResult {
  readonly crl_sequence: number
  /** Entries of the list now in force, not of this request. */
  readonly revoked_count: number
}

export interface CrlArea {
  /** The active list as served; a verifier checks signature, next_update and sequence (checkCrlAdvance) itself. */
  current(options?: CallOptions): Promise<Crl>
  /** Final, and in force from the next request on. Repeating it changes nothing. */
  revoke(request: RevocationRequest, options?: WriteOptions): Promise<RevocationResult>
}

const MAX_IDS = 1000

const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readResult = known({ crl_sequence: count, revoked_count: count })

export function crlArea({ call }: Connection): CrlArea {
  return {
    current: (options) => call({ route: crl.current, read: json(readCrl), options }),
    revoke: async ({ cert_ids, reason }, options) => {
      if (cert_ids.length > MAX_IDS) throw new RequestError(`at most ${MAX_IDS} certificates can be revoked at once`)
      const [first, ...others] = cert_ids
      return call({
        route: crl.revoke,
        body: {
          ...(others.length === 0 ? { cert_id: first } : { cert_ids }),
          ...(reason === undefined ? {} : { reason }),
        },
        repeatable: true,
        idempotencyKey: options?.idempotencyKey,
        read: json((value) => readResult(value, '')),
        options,
      })
    },
  }
}
