import {
  asJson,
  authorityKeysAt,
  boundaryDecisionForm,
  canonicalJson,
  contextDigest,
  isJsonObject,
  justificationForm,
  readReceived,
  verifyBoundaryDecision,
  verifyJustification,
} from '@chancery/protocol'
import type { AuthorityKeys, Instant } from '@chancery/protocol'
import type { NodeDecision, NodeDecisionRequest } from '../api/boundary.ts'
import { DecisionVerificationError } from '../governed/errors.ts'

/** Options of {@link Node.ask}. */
export type AskOptions = Omit<NodeDecisionRequest, 'cert_id' | 'requested_capability'> & {
  readonly signal?: AbortSignal
}

export interface AskedDecision {
  readonly request: NodeDecisionRequest
  /** The key that the decision is about. */
  readonly publicKey: string
  /** Public keys of the authority, pinned; or its genesis block and key history. */
  readonly authorityKeys: readonly string[] | AuthorityKeys
  readonly now: Instant
}

/**
 * Verifies the response to a request for a decision: genuine, valid now, with its reasons, and about this key,
 * capability, attestation and context. Throws {@link DecisionVerificationError}.
 */
export async function requireNodeDecision(response: NodeDecision, asked: AskedDecision): Promise<void> {
  const { decision, justification_proof: justification, context } = response
  const refuse = (reason: string): never => {
    throw new DecisionVerificationError(reason, decision.decision_id)
  }
  const { authorityKeys: given, request } = asked
  const keys = 'genesis' in given ? authorityKeysAt(given, decision.decision_made_at) : given
  const received = readReceived(boundaryDecisionForm, asJson(decision))
  const verdict = await verifyBoundaryDecision(received, { keys, now: asked.now })
  if (!verdict.accepted) refuse(verdict.reason)
  const explained = await verifyJustification(readReceived(justificationForm, asJson(justification)), keys, decision)
  if (!explained.ok) refuse(`justification_${explained.reason}`)
  if (decision.policy_binding?.context_digest !== contextDigest(context)) refuse('context_digest_mismatch')
  if (context.context_id !== decision.context_id || !isAskedContext(context, asked)) refuse('context_mismatch')
  const id = request.attestation_id ?? request.presented?.attestation.attestation_id
  if (decision.agreement_id !== id || decision.attestation_binding?.attestation_id !== id) refuse('basis_mismatch')
}

/** The context is that of the request: nothing else was decided. */
function isAskedContext(context: NodeDecision['context'], { request, publicKey }: AskedDecision): boolean {
  const { requested_capability, context: asked = {} } = request
  const about = context.attributes['chancery_request']
  return (
    context.requested_capability === requested_capability &&
    (asked.context_id === undefined || asked.context_id === '' || context.context_id === asked.context_id) &&
    canonicalJson(context.request_parameters) === canonicalJson(asked.request_parameters ?? {}) &&
    isJsonObject(about) &&
    about['node_public_key'] === publicKey
  )
}
