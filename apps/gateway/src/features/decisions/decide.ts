import { GatewayRefusal } from '@chancery/contract'
import { type JoinCertificate, type NetworkTrust, evaluateCertificate } from '@chancery/protocol'
import type { AuditContext, AuditedDecision } from '../../audit/request-audit.ts'
import { toRetrySeconds } from '../../edge/error-body.ts'
import type { ClientCall } from '../../edge/call.ts'
import { isUsable, issuerKey } from '../../trust/snapshot.ts'
import { askAuthority } from './ask-authority.ts'
import { cacheKey } from './decision-cache.ts'
import type { AskingCall, DecisionParts, LocalDenial, Question, VerifiedDecision } from './decision-cache.ts'
import { verifyAnswer } from './verify-answer.ts'

/** Counts questions against the decision quota of a client. A reused decision counts, too. */
export async function countDecisions(call: ClientCall, cost: number, parts: DecisionParts): Promise<void> {
  const { id: clientId, decisionsPerMinute: limit } = call.client
  const result = await parts.quota.claim({ clientId, kind: 'decisions', limit, cost })
  if (result === undefined) return
  parts.metrics.quotaDenied.increase()
  throw new GatewayRefusal('decision_quota', undefined, { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
}

/**
 * Returns the verified decision of the authority for a question, or an earlier one that has not ended. The revocation
 * lists are checked each time, also before an earlier decision is used again. Every fault throws.
 */
export async function decide(
  question: Question,
  call: AskingCall,
  parts: DecisionParts,
): Promise<VerifiedDecision | LocalDenial> {
  const { certificate } = question
  await requireOwnTrust(question, call, parts)
  const isKnown = certificate === undefined || question.isCallerVerified === true
  if (!isKnown && !(await isTrusted(certificate, call, parts))) return { denied: 'certificate_untrusted' }
  const key = cacheKey(question)
  if (key === undefined) return audited(await ask(question, call, parts), false, call)
  const asking = { ask: () => ask(question, call, parts), checkDeadline: () => call.checkDeadline() }
  const { verified, reused } = await parts.cache.findOrAsk(call.client.id, question, key, asking)
  return audited(verified, reused, call)
}

/**
 * Asks for a decision that is used once, under an id that the caller chose. The caller of the question was verified by
 * this gateway.
 */
export async function askOnce(
  question: Question,
  contextId: string,
  call: AskingCall,
  parts: DecisionParts,
): Promise<VerifiedDecision> {
  await requireOwnTrust(question, call, parts)
  return ask(question, call, parts, contextId)
}

async function ask(
  question: Question,
  call: AskingCall,
  parts: DecisionParts,
  contextId: string = parts.ids.uuid(),
): Promise<VerifiedDecision> {
  await call.beforeAsking?.()
  const answer = await askAuthority(question, contextId, call, parts)
  return verifyAnswer(answer, { question, contextId, now: parts.clock.now() })
}

/** Records a question that got no decision, so that the records keep the order of the questions. */
export function recordRefused({ context }: Pick<AskingCall, 'context'>, reason: string | undefined): void {
  record({ decision_id: null, authorized: false, reused: false, reason: reason ?? 'refused' }, context)
}

/** Records that the decision of a question ended before the batch was answered. It permitted nothing. */
export function recordEnded({ context }: ClientCall, index: number): void {
  context.decisions = (context.decisions ?? []).map((each, at) =>
    at === index ? { ...each, authorized: false, reason: 'decision_expired' } : each,
  )
}

function audited(verified: VerifiedDecision, reused: boolean, { context }: AskingCall): VerifiedDecision {
  const { decision_id, authorized } = verified.decision
  record({ decision_id, authorized, reused }, context)
  return verified
}

function record(decision: AuditedDecision, context: AuditContext): void {
  context.decisions = [...(context.decisions ?? []), decision]
}

/** Requires a usable revocation list, and that the certificate of this relay is valid and not revoked. */
async function requireOwnTrust({ network }: Question, { trust }: AskingCall, parts: DecisionParts): Promise<void> {
  const now = parts.clock.now()
  const list = trust?.issuers.get(issuerKey(network.name, network.primary.issuer))
  const known = trust?.networks.get(network.name)
  if (list === undefined || known === undefined || !isUsable(list, now)) throw new GatewayRefusal('revocation_list')
  const { certificate } = network.decisions
  if (certificate === undefined) return
  // The required roles are those of callers. The authority checks the role of a relay.
  const rules: NetworkTrust = { ...known, requiredRoles: [] }
  const { findings } = await evaluateCertificate(certificate, rules, now, parts.verdicts.verify)
  if (findings.length > 0) throw new GatewayRefusal('relay_certificate')
}

async function isTrusted(certificate: JoinCertificate, call: AskingCall, { clock }: DecisionParts): Promise<boolean> {
  const { network_name } = certificate
  if (!call.client.networks.includes(network_name)) return false
  const { findings } = await evaluateCertificate(certificate, call.trust?.networks.get(network_name), clock.now())
  return findings.length === 0
}
