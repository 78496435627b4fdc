import { LIMITS, enrollment } from '@chancery/contract'
import { field, shape } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { type DryRun, type RealRun, preview } from '../http/dry-run.ts'
import { type PageQuery, type Paging, paging } from './page.ts'
import { allRows } from './pages.ts'

/** protocol/core 8; absent members get the defaults of the authority. */
export interface InviteBatchRequest {
  /** 1 to 1000. */
  readonly count: number
  readonly roles?: readonly string[]
  readonly max_validity_hours?: number
  readonly token_expiry_hours?: number
}

export interface InviteBatch {
  readonly count: number
  /** Names the batch in lists and when it is withdrawn. */
  readonly batch_id: string
  readonly expires_at: string
  /** Secrets: anyone with one can join once. They cannot be shown again. */
  readonly token_ids: readonly string[]
}

export type InviteState = 'open' | 'used' | 'withdrawn' | 'expired'

/** A type, not an interface: it is JSON and may be passed on as such. */
export type InviteRow = {
  readonly token_fingerprint: string
  readonly state: InviteState
  readonly roles: readonly string[]
  readonly max_validity_hours: number
  readonly recipient_public_key: string | null
  readonly created_at: string
  /** Null when a release without this field made it. */
  readonly created_by: string | null
  readonly batch_id: string | null
  readonly expires_at: string
  readonly used_at: string | null
  readonly used_by_key: string | null
  readonly withdrawn_at: string | null
  readonly withdrawn_by: string | null
}

export interface InviteFilter {
  /** `open` when left out. */
  readonly state?: InviteState | 'all'
  readonly created_by?: string
  readonly batch_id?: string
}

export interface InvitePage extends Paging {
  readonly count: number
  /** By creation time. */
  readonly invites: readonly InviteRow[]
}

/** Exactly one of the three selects the invites. */
export type InviteChoice =
  | { readonly token_fingerprints: readonly string[] }
  | { readonly created_by: string }
  | { readonly batch_id: string }

export type InviteWithdrawalRequest = InviteChoice & { readonly reason?: string }

export interface InviteWithdrawal {
  /** How many were withdrawn now; used or expired invites do not change. */
  readonly withdrawn: number
  readonly unknown_fingerprints: readonly string[]
}

export type InvitePreview = {
  readonly dry_run: true
  readonly would_change: boolean
  readonly open_invites: number
  readonly unknown_fingerprints: readonly string[]
}

export interface InvitesApi {
  /** As operator: creates many invites with the same terms, all or none. The response is never sent twice. */
  inviteBatch(request: InviteBatchRequest, options?: WriteOptions): Promise<InviteBatch>
  /** As operator: one page of invites. A token itself cannot be read. */
  invites(query?: InviteFilter & PageQuery, options?: CallOptions): Promise<InvitePage>
  /** Returns all of them, page after page. */
  listInvites(
    query?: InviteFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<InviteRow, void, undefined>
  /** Previews how many would be withdrawn. */
  withdrawInvites(request: InviteWithdrawalRequest & DryRun, options?: CallOptions): Promise<InvitePreview>
  /** Withdraws unused invites; a standard key those it made itself, a privileged key any. A repeat changes nothing. */
  withdrawInvites(request: InviteWithdrawalRequest & RealRun, options?: CallOptions): Promise<InviteWithdrawal>
}

const word = shape.required(shape.string)
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const fingerprints = shape.required(shape.arrayOf(shape.string, { max: 1000 }))

const readBatch = shape.open({
  count: whole,
  batch_id: word,
  expires_at: shape.required(field.timestamp),
  token_ids: shape.required(shape.arrayOf(shape.string, { max: 1000 })),
})

const readRow = shape.open({
  token_fingerprint: word,
  state: shape.required(shape.oneOf('open', 'used', 'withdrawn', 'expired')),
  roles: shape.required(shape.arrayOf(shape.string, { max: 64 })),
  max_validity_hours: whole,
  recipient_public_key: wordOrNull,
  created_at: word,
  created_by: wordOrNull,
  batch_id: wordOrNull,
  expires_at: word,
  used_at: wordOrNull,
  used_by_key: wordOrNull,
  withdrawn_at: wordOrNull,
  withdrawn_by: wordOrNull,
})

const readPage = shape.open({
  count: whole,
  invites: shape.required(shape.arrayOf(readRow, { max: LIMITS.listPageRows })),
  ...paging,
})

const readDone = shape.open({ withdrawn: whole, unknown_fingerprints: fingerprints })

const readPreview = shape.open({
  dry_run: shape.required(shape.isTrue),
  would_change: shape.required(shape.boolean),
  open_invites: whole,
  unknown_fingerprints: fingerprints,
})

export function invitesApi(connection: Connection): InvitesApi {
  const { call } = connection
  const invites: InvitesApi['invites'] = (query = {}, options) =>
    call({ route: enrollment.inviteList, query: { ...query }, read: json((value) => readPage(value, '')), options })

  function withdrawInvites(request: InviteWithdrawalRequest & DryRun, options?: CallOptions): Promise<InvitePreview>
  function withdrawInvites(request: InviteWithdrawalRequest & RealRun, options?: CallOptions): Promise<InviteWithdrawal>
  function withdrawInvites(
    { dryRun, ...request }: InviteWithdrawalRequest & { dryRun?: boolean },
    options?: CallOptions,
  ): Promise<InvitePreview | InviteWithdrawal> {
    const facts = { route: enrollment.inviteWithdraw, repeatable: true, options }
    if (dryRun !== true)
      return call({ ...facts, body: omitUndefined({ ...request }), read: json((value) => readDone(value, '')) })
    const body = omitUndefined({ ...request, dry_run: true })
    return preview(connection, { ...facts, body, read: json((value) => readPreview(value, '')) })
  }

  return {
    inviteBatch: (request, options) =>
      call({
        route: enrollment.inviteBatch,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        read: json((value) => readBatch(value, '')),
        options,
      }),
    invites,
    listInvites: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => invites({ ...filter, ...bounds }, options),
        (page) => page.invites,
        limit,
      ),
    withdrawInvites,
  }
}
