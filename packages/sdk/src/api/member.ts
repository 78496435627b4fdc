import {
  type HeartbeatRequest,
  type HeartbeatResponse,
  type IssuedWit,
  type JoinEvidence,
  type PresentedCertificate,
  type RenewRequest,
  enrollment,
} from '@chancery/contract'
import type { JoinCertificate, Read } from '@chancery/protocol'
import type { CallOptions, CallRoute, Connection } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { json, omitUndefined } from '../http/read-response.ts'

/** With an invite or with evidence, one of them. */
export type JoinRequest = (
  | { readonly invite_token: string; readonly evidence?: never }
  | { readonly evidence: JoinEvidence; readonly invite_token?: never }
) & { readonly validity_hours?: number }

/** Calls that the key of a node proves. */
export interface MemberCalls {
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
}

/** All but a join may be repeated. */
export function memberCalls({ call, node }: Connection): MemberCalls {
  const proven = async <Answer>(
    name: keyof MemberCalls,
    route: CallRoute & { readonly answer: Read<Answer> },
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
  const { heartbeat, join, present, renew, wit } = enrollment
  return {
    join: (request, options) => proven('join', join, request, options),
    heartbeat: (request, options) => proven('heartbeat', heartbeat, request, options),
    renew: (request, options) => proven('renew', renew, request, options),
    wit: (request, options) => proven('wit', wit, request, options),
    present: (request, options) => proven('present', present, request, options),
  }
}
