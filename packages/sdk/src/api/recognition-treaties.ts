import { LIMITS, recognitionTreaties } from '@chancery/contract'
import { readRecognitionTreaty, shape } from '@chancery/protocol'
import type { JsonObject, RecognitionTreaty, AttestationStatus, TreatyLifecycle } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { preview } from '../http/dry-run.ts'
import { type DryRun, type RealRun, isDryRun } from './dry-run.ts'
import { type PageQuery, type Paging, paging } from './page.ts'
import { allRows } from './pages.ts'

/** protocol/core 15.2; absent members get the defaults of the authority. */
export interface TreatyRequest {
  readonly subject_sovereign_id: string
  readonly subject_public_keys: readonly string[]
  readonly scope?: {
    /** Left out or empty: no role is accepted. */
    readonly allowed_roles?: readonly string[]
    readonly accepted_statuses?: readonly AttestationStatus[]
    readonly claims?: JsonObject
  }
  readonly validity_hours?: number
  readonly metadata?: JsonObject
}

/** The unchanged signed record and its state. */
export type TreatyRow = {
  readonly treaty: RecognitionTreaty
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly lifecycle: TreatyLifecycle
}

export interface TreatyFilter {
  readonly issuer_sovereign_id?: string
  readonly subject_sovereign_id?: string
  readonly status?: string
  /** Beta. */
  readonly lifecycle?: TreatyLifecycle['state']
  /** Beta: first characters of the subject. */
  readonly q?: string
  /** Beta; by time of issue when absent. */
  readonly sort?: 'issued_at' | 'expires_at'
}

export interface TreatyPage extends Paging {
  readonly count: number
  /** By time of issue. */
  readonly recognition_treaties: readonly TreatyRow[]
}

export type TreatyPreview = {
  readonly dry_run: true
  readonly treaty_id: string
  readonly status: string
  readonly would_change: boolean
  readonly paths_lost: {
    /** A lower bound when `complete` is false. */
    readonly count: number
    readonly complete: boolean
    readonly sample: readonly { readonly from: string; readonly to: string }[]
    /** No other active treaty connects the two parties directly. */
    readonly direct_recognition_lost: boolean
  }
  readonly attestations_no_longer_accepted: { readonly issuer_sovereign_id: string; readonly all: boolean }
}

/** protocol/core 17.2: a negative result is a verdict, not an error. It does not cover members of the subject. */
export type TreatyVerdict = {
  readonly accepted: boolean
  readonly reason: string
  readonly trust_basis: string
  /**
   * True when the authority itself accepts it, by its own treaty. False when the caller chose the keys. Check this
   * field unless you chose the keys. False for an older authority that does not report it.
   */
  readonly counts_here: boolean
  readonly treaty_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
}

/** The new treaty, and what became of the old one. */
export interface RenewedTreaty {
  readonly treaty: RecognitionTreaty
  readonly previous: { readonly treaty_id: string; readonly status: string; readonly revocation_reason: string }
}

export interface RecognitionTreatiesApi {
  /** As operator. After an unknown outcome it is repeated only with an idempotency key. */
  issue(request: TreatyRequest, options?: WriteOptions): Promise<RecognitionTreaty>
  /**
   * Beta. Signs the next treaty with the terms of the old one, apart from the given ones, and ends the old treaty, in one
   * transaction. After an unknown outcome it is repeated only with an idempotency key.
   */
  renew(
    id: string,
    changes?: Omit<TreatyRequest, 'subject_sovereign_id' | 'subject_public_keys'> &
      Partial<Pick<TreatyRequest, 'subject_public_keys'>>,
    options?: WriteOptions,
  ): Promise<RenewedTreaty>
  /** Previews which paths between networks would be lost. */
  revoke(id: string, request: { readonly reason?: string } & DryRun, options?: CallOptions): Promise<TreatyPreview>
  /** Revokes the treaty. A repeat does not change the first time and reason. */
  revoke(
    id: string,
    request?: { readonly reason?: string } & RealRun,
    options?: CallOptions,
  ): Promise<{ readonly treaty_id: string; readonly status: string }>
  page(query?: TreatyFilter & PageQuery, options?: CallOptions): Promise<TreatyPage>
  /** Returns all of them, page after page. */
  list(
    query?: TreatyFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<TreatyRow, void, undefined>
  find(id: string, options?: CallOptions): Promise<TreatyRow>
  verify(
    request: {
      readonly treaty: RecordOrText<RecognitionTreaty>
      readonly issuer_public_keys?: readonly string[]
      readonly expected_issuer_sovereign_id?: string
      readonly expected_subject_sovereign_id?: string
    },
    options?: CallOptions,
  ): Promise<TreatyVerdict>
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)
const whole = shape.integer(0, Number.MAX_SAFE_INTEGER)

const readLifecycle = known({
  state: shape.required(shape.oneOf('active', 'expiring_soon', 'expired', 'revoked', 'replaced')),
  expiry_risk: shape.required(shape.oneOf('none', 'low', 'medium', 'high', 'expired')),
  seconds_until_expiry: shape.required(shape.nullable(whole)),
  expires_at: word,
  revoked_at: wordOrNull,
  revocation_reason: wordOrNull,
  replacement_treaty_id: wordOrNull,
})

const readRow = known({
  treaty: shape.required((value): RecognitionTreaty => readRecognitionTreaty(value)),
  status: word,
  revoked_at: wordOrNull,
  revocation_reason: wordOrNull,
  lifecycle: shape.required(readLifecycle),
})

const readPage = known({
  count: shape.required(whole),
  recognition_treaties: shape.required(shape.arrayOf(readRow, { max: LIMITS.listPageRows })),
  ...paging,
})

const readRenewed = known({
  treaty: shape.required((value): RecognitionTreaty => readRecognitionTreaty(value)),
  previous: shape.required(known({ treaty_id: word, status: word, revocation_reason: word })),
})

const readDone = known({ treaty_id: word, status: word })

const readPreview = known({
  dry_run: shape.required(isDryRun),
  treaty_id: word,
  status: word,
  would_change: flag,
  paths_lost: shape.required(
    known({
      count: shape.required(whole),
      complete: flag,
      sample: shape.required(shape.arrayOf(known({ from: word, to: word }), { max: 1000 })),
      direct_recognition_lost: flag,
    }),
  ),
  attestations_no_longer_accepted: shape.required(known({ issuer_sovereign_id: word, all: flag })),
})

const readVerdict = known({
  accepted: flag,
  reason: word,
  trust_basis: word,
  counts_here: shape.withDefault(shape.boolean, false),
  treaty_id: word,
  issuer_sovereign_id: word,
  subject_sovereign_id: word,
})

// oxlint-disable-next-line max-lines-per-function -- one member per call
export function recognitionTreatiesApi(connection: Connection): RecognitionTreatiesApi {
  const { call } = connection
  const page: RecognitionTreatiesApi['page'] = (query = {}, options) =>
    call({
      route: recognitionTreaties.list,
      query: { ...query },
      read: json((value) => readPage(value, '')),
      options,
    })

  function revoke(id: string, request: { reason?: string } & DryRun, options?: CallOptions): Promise<TreatyPreview>
  function revoke(
    id: string,
    request?: { reason?: string } & RealRun,
    options?: CallOptions,
  ): Promise<{ treaty_id: string; status: string }>
  function revoke(
    id: string,
    { reason, dryRun }: { reason?: string; dryRun?: boolean } = {},
    options?: CallOptions,
  ): Promise<TreatyPreview | { treaty_id: string; status: string }> {
    const facts = { route: recognitionTreaties.revoke, params: { treaty_id: id }, repeatable: true, options }
    if (dryRun === true)
      return preview(connection, {
        ...facts,
        body: omitUndefined({ reason, dry_run: true }),
        read: json((value) => readPreview(value, '')),
      })
    return call({ ...facts, body: omitUndefined({ reason }), read: json((value) => readDone(value, '')) })
  }

  return {
    issue: ({ scope, ...request }, options) =>
      call({
        route: recognitionTreaties.issue,
        body: omitUndefined({ ...request, scope: scope === undefined ? undefined : omitUndefined({ ...scope }) }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(readRecognitionTreaty),
        options,
      }),
    renew: (id, { scope, ...changes } = {}, options) =>
      call({
        route: recognitionTreaties.renew,
        params: { treaty_id: id },
        body: omitUndefined({ ...changes, scope: scope === undefined ? undefined : omitUndefined({ ...scope }) }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json((value) => readRenewed(value, '')),
        options,
      }),
    revoke,
    page,
    list: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => page({ ...filter, ...bounds }, options),
        (found) => found.recognition_treaties,
        limit,
      ),
    find: (id, options) =>
      call({
        route: recognitionTreaties.find,
        params: { treaty_id: id },
        read: json((value) => readRow(value, '')),
        options,
      }),
    verify: (request, options) =>
      call({
        route: recognitionTreaties.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
  }
}
