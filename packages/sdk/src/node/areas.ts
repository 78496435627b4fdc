import { type ApprovalStatus, approvals, crl, policy, sovereign } from '@chancery/contract'
import { type AgentCalls, agentCalls } from '../api/agent-calls.ts'
import type { CrlApi } from '../api/crl.ts'
import { type DecisionRequest, decisionRequest } from '../api/decision-request.ts'
import { type MemberCalls, memberCalls } from '../api/member.ts'
import type { PolicyApi } from '../api/policy.ts'
import { RefusedError } from '../errors.ts'
import type { CallOptions } from '../http/call.ts'
import { type KeyedOptions, openKeyed } from '../http/keyed-connection.ts'
import { requireNode } from '../http/node-signing.ts'
import { json } from '../http/read-response.ts'
import { compactCrl } from '../trust/scanned-list.ts'
import type { KeySource } from './followed.ts'

/** What a node calls for itself: a client has all of it, and much more. */
export interface NodeAreas extends KeySource {
  readonly agents: AgentCalls
  readonly approvals: ApprovalCalls
  readonly boundary: { readonly request: DecisionRequest }
  readonly crl: Pick<CrlApi, 'compact' | 'delta'>
  readonly enrollment: MemberCalls
  readonly policy: Pick<PolicyApi, 'current'>
}

/** What the key that asked may read of its held request. */
export interface ApprovalCalls {
  status(approval_id: string, options?: CallOptions): Promise<ApprovalStatus>
}

/** These calls alone: the library of a node that loads no others. */
export function nodeAreas(options: KeyedOptions): NodeAreas {
  const connection = openKeyed(options)
  const { call } = connection
  const { keySuccession } = sovereign
  return {
    agents: agentCalls(connection),
    approvals: {
      status: (approval_id, more) =>
        call({
          route: approvals.status,
          body: (now) =>
            requireNode(connection.node, 'a request about an approval').prove('approval-status', { approval_id }, now),
          repeatable: true,
          read: json((value) => approvals.status.answer(value, '')),
          options: more,
        }),
    },
    boundary: { request: decisionRequest(connection) },
    crl: {
      compact: (more) => call({ route: crl.current, read: compactCrl, options: more }),
      delta: (from, issuer, more) =>
        call({ route: crl.delta, query: { from, issuer }, read: ({ body }) => body, options: more }).catch(
          (error: unknown) => {
            if (error instanceof RefusedError && error.status === 404) return undefined
            throw error
          },
        ),
    },
    enrollment: memberCalls(connection),
    policy: {
      current: (more) =>
        call({ route: policy.current, read: json((value) => policy.current.answer(value, '')), options: more }),
    },
    sovereign: {
      keySuccession: (more) =>
        call({ route: keySuccession, read: json((value) => keySuccession.answer(value, '')), options: more }),
    },
  }
}
