import {
  type CertificateFilter,
  type Invite,
  type InviteBatch,
  type InviteBatchRequest,
  type InviteFilter,
  type InviteRequest,
  type InviteRow,
  type IssuedCertificate,
  type Roster,
  enrollment,
} from '@chancery/contract'
import type { Read } from '@chancery/protocol'
import { ResponseError } from '../errors.ts'
import type { CallOptions, CallRoute, Connection, WriteOptions } from '../http/call.ts'
import { json, omitUndefined } from '../http/read-response.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { type MemberCalls, memberCalls } from './member.ts'
import { allRows } from './pages.ts'

/**
 * `inviteList`, `inviteWithdraw`, `certificates` and `labelNode`: as operator. A standard key withdraws the invites it
 * made itself, a privileged key any. A repeat changes nothing.
 */
export interface EnrollmentApi
  extends Omit<RouteApi<typeof enrollment>, keyof MemberCalls | 'invite' | 'inviteBatch'>, MemberCalls {
  /**
   * As operator. The response contains a secret and is never sent twice, so an attempt with an unknown outcome is not
   * repeated.
   */
  invite(request?: InviteRequest, options?: WriteOptions): Promise<Invite>
  /** As operator: creates many invites with the same terms, all or none. The response is never sent twice. */
  inviteBatch(request: InviteBatchRequest, options?: WriteOptions): Promise<InviteBatch>
  /** Returns all invites, page after page. */
  allInvites(
    query?: InviteFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<InviteRow, void, undefined>
  /** Returns the active nodes, for an operator. */
  roster(options?: CallOptions): Promise<Roster>
  /** Returns all issued certificates, page after page. */
  allCertificates(
    query?: CertificateFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<IssuedCertificate, void, undefined>
}

type AnsweringRoute<Answer> = CallRoute & { readonly answer: Read<Answer> }

export function enrollmentApi(connection: Connection): EnrollmentApi {
  const { call } = connection
  const api = routeApi(enrollment, connection)
  const issueOnce = <Answer>(route: AnsweringRoute<Answer>, request: object, options?: WriteOptions): Promise<Answer> =>
    call({
      route,
      body: omitUndefined({ ...request }),
      idempotencyKey: options?.idempotencyKey,
      read: json((value) => route.answer(value, '')),
      options,
    })
  return {
    ...api,
    invite: (request = {}, options) => issueOnce(enrollment.invite, request, options),
    inviteBatch: (request, options) => issueOnce(enrollment.inviteBatch, request, options),
    allInvites: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => api.inviteList({ ...filter, ...bounds }, options),
        (page) => page.invites,
        limit,
      ),
    ...memberCalls(connection),
    async roster(options) {
      const { count, nodes } = await api.nodes({ ...options, asOperator: true })
      if (nodes !== undefined) return { count, nodes }
      throw new ResponseError({ status: 200, problem: 'it does not name the nodes', requestId: undefined })
    },
    allCertificates: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => api.certificates({ ...filter, ...bounds }, options),
        (page) => page.certificates,
        limit,
      ),
  }
}
