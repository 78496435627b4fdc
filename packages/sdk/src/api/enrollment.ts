import {
  type CertificateFilter,
  type HeartbeatRequest,
  type HeartbeatResponse,
  type Invite,
  type InviteBatch,
  type InviteBatchRequest,
  type InviteFilter,
  type InviteRequest,
  type InviteRow,
  type IssuedCertificate,
  type IssuedWit,
  type JoinEvidence,
  type PresentedCertificate,
  type RenewRequest,
  type Roster,
  enrollment,
} from '@chancery/contract'
import type { JoinCertificate, Read } from '@chancery/protocol'
import { ResponseError } from '../errors.ts'
import type { CallOptions, CallRoute, Connection, WriteOptions } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { json, omitUndefined } from '../http/read-response.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { allRows } from './pages.ts'

/** With an invite or with evidence, one of them. */
export type JoinRequest = (
  | { readonly invite_token: string; readonly evidence?: never }
  | { readonly evidence: JoinEvidence; readonly invite_token?: never }
) & { readonly validity_hours?: number }

type ProvenCall = 'join' | 'heartbeat' | 'renew' | 'wit' | 'present'

/**
 * `inviteList`, `inviteWithdraw`, `certificates` and `labelNode`: as operator. A standard key withdraws the invites it
 * made itself, a privileged key any. A repeat changes nothing.
 */
export interface EnrollmentApi extends Omit<RouteApi<typeof enrollment>, ProvenCall | 'invite' | 'inviteBatch'> {
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
  /** Spends the invite. Verify the certificate with protocol's verifyJoinCertificate before you use it. */
  join(request: JoinRequest, options?: CallOptions): Promise<JoinCertificate>
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<HeartbeatResponse>
  /**
   * May be repeated within the grace period of the old certificate: a lost response only costs one more certificate.
   */
  renew(request: RenewRequest, options?: CallOptions): Promise<JoinCertificate>
  /** Returns a WIMSE token of this certificate; refused with `wimse_disabled` when the authority issues none. Beta. */
  wit(request: { readonly cert_id: string }, options?: CallOptions): Promise<IssuedWit>
  /** Presents a valid certificate that a restored authority lacks, for its adoption by an operator. Beta. */
  present(request: { readonly certificate: JoinCertificate }, options?: CallOptions): Promise<PresentedCertificate>
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
  const { call, node } = connection
  const api = routeApi(enrollment, connection)
  /** A call that the key of the node proves. All but a join may be repeated. */
  const proven = async <Answer>(
    name: ProvenCall,
    route: AnsweringRoute<Answer>,
    given: object,
    options?: CallOptions,
  ): Promise<Answer> => {
    const identity = requireNode(node, name)
    return call({
      route,
      body: (now) => identity.prove(name, omitUndefined({ ...given }), now),
      ...(name === 'join' ? {} : { repeatable: true as const }),
      read: json((value) => route.answer(value, '')),
      options,
    })
  }
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
    join: (request, options) => proven('join', enrollment.join, request, options),
    heartbeat: (request, options) => proven('heartbeat', enrollment.heartbeat, request, options),
    renew: (request, options) => proven('renew', enrollment.renew, request, options),
    wit: (request, options) => proven('wit', enrollment.wit, request, options),
    present: (request, options) => proven('present', enrollment.present, request, options),
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
