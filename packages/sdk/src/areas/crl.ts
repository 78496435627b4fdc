import { crl } from '@chancery/contract'
import { readCrl, shape } from '@chancery/protocol'
import type { Crl, RevocationReason } from '@chancery/protocol'
import { json, known } from '../answer.ts'
import type { CallOptions, Connection, WriteOptions } from '../call.ts'
import { RequestError } from '../errors.ts'
import { isDryRun, readCounted } from './dry-run.ts'
import type { Counted, DryRun, RealRun } from './dry-run.ts'

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

export type RevocationForecast = {
  readonly dry_run: true
  readonly would_change: boolean
  /** With key_compromise also the other certificates of the node keys. */
  readonly certificates_revoked: Counted
  /** Revoked before; only their reason would become key_compromise. */
  readonly reasons_raised: Counted
  /** Agents that would leave the registry, by node key. */
  readonly agents_dropped: Counted
}

export interface CrlArea {
  /** The active list as served; a verifier checks signature, next_update and sequence (checkCrlAdvance) itself. */
  current(options?: CallOptions): Promise<Crl>
  /** The list of one key: the current one, or a former one while its certificates are in use. */
  ofKey(keyId: string, options?: CallOptions): Promise<Crl>
  /** What would be taken away; an unknown id is refused as in the revocation itself. */
  revoke(request: RevocationRequest & DryRun, options?: CallOptions): Promise<RevocationForecast>
  /** Final, and in force from the next request on. Repeating it changes nothing. */
  revoke(request: RevocationRequest & RealRun, options?: WriteOptions): Promise<RevocationResult>
}

const MAX_IDS = 1000

const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readResult = known({ crl_sequence: count, revoked_count: count })

const readForecast = known({
  dry_run: shape.required(isDryRun),
  would_change: shape.required(shape.boolean),
  certificates_revoked: shape.required(readCounted),
  reasons_raised: shape.withDefault<Counted>(readCounted, { count: 0, sample: [] }),
  agents_dropped: shape.required(readCounted),
})

export function crlArea({ call }: Connection): CrlArea {
  async function revoke(request: RevocationRequest & DryRun, options?: CallOptions): Promise<RevocationForecast>
  async function revoke(request: RevocationRequest & RealRun, options?: WriteOptions): Promise<RevocationResult>
  async function revoke(
    { cert_ids, reason, dryRun }: RevocationRequest & { readonly dryRun?: boolean },
    options?: WriteOptions,
  ): Promise<RevocationForecast | RevocationResult> {
    if (cert_ids.length > MAX_IDS) throw new RequestError(`at most ${MAX_IDS} certificates can be revoked at once`)
    const [first, ...others] = cert_ids
    const body = {
      ...(others.length === 0 ? { cert_id: first } : { cert_ids }),
      ...(reason === undefined ? {} : { reason }),
    }
    const facts = { route: crl.revoke, repeatable: true, options }
    if (dryRun === true)
      return call({ ...facts, body: { ...body, dry_run: true }, read: json((value) => readForecast(value, '')) })
    return call({
      ...facts,
      body,
      idempotencyKey: options?.idempotencyKey,
      read: json((value) => readResult(value, '')),
    })
  }
  return {
    current: (options) => call({ route: crl.current, read: json(readCrl), options }),
    ofKey: (keyId, options) => call({ route: crl.keys, params: { key_id: keyId }, read: json(readCrl), options }),
    revoke,
  }
}
