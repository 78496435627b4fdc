import type { HttpResponse } from '@chancery/service-kit'
import { type OperatorCall, requireKeyInForce } from '../../auth/operator.ts'
import type { BoundaryState } from './context.ts'
import { readAttempt } from '../../requests/idempotency.ts'
import { type ResolvedBasis, resolveBasis } from './basis.ts'
import { decideAndStore } from './decision.ts'
import { readEvaluateRequest } from './requests.ts'

/**
 * POST /admin/boundary/evaluate
 * Decides under the active policies. A denial is a signed 201 response. Only a malformed request, or an agreement that
 * is not trusted, is refused.
 */
export async function evaluate(call: OperatorCall, parts: BoundaryState): Promise<HttpResponse> {
  const request = readEvaluateRequest(call.body, parts.network.name)
  parts.signing.requireAllowed()
  const resolve = async (): Promise<ResolvedBasis> => {
    const [basis] = await Promise.all([resolveBasis(call, parts, request), requireKeyInForce(call, parts)])
    return basis
  }
  const basisVersion = await parts.evidence.basisVersion()
  return decideAndStore(call, parts, {
    ...(await resolve()),
    basisVersion,
    resolveAgain: resolve,
    asked_by: 'operator',
    owner: { kind: 'operator', name: call.operator.key_id },
    approvalAsking: {
      asker: { kind: 'operator', id: call.operator.key_id },
      askerKey: call.operator.publicKey,
      named: request.approval_id,
    },
    caller: `operator ${call.operator.key_id}`,
    attempt: (now) => readAttempt(call, now),
    showsContext: request.asked.kind === 'presented',
  })
}
