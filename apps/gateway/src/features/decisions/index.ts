import { GATEWAY_ERRORS, GATEWAY_ROUTES, GatewayRefusal } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import { StoredVerdicts } from '../../trust/stored-verdicts.ts'
import { DecisionCache, type DecisionParts, type LocalDenial } from './decision-cache.ts'
import { JsonError, READ_LIMITS, instantOf, isJsonObject, member, readJsonBytes } from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue } from '@chancery/protocol'
import type { ClientCall, GatewayCall } from '../../edge/call.ts'
import { toRefusal } from '../../edge/error-body.ts'
import { INLINE_BODY_BYTES } from '../../threads/fair-thread.ts'
import { countDecisions, decide, recordEnded, recordRefused } from './decide.ts'
import { invalid, readQuestion } from './read-question.ts'
import { type HttpResponse, json } from '@chancery/service-kit'
import { setImmediate } from 'node:timers/promises'
import { MAX_QUESTIONS } from '../../policy/policy.ts'

export { basisOf } from './basis.ts'
export type { AskingNode } from './basis.ts'
export { askOnce, decide, recordRefused } from './decide.ts'
export { DecisionCache } from './decision-cache.ts'
export type { AskingCall, DecisionParts } from './decision-cache.ts'
export { isDeciding } from './decision-cache.ts'
export type { DecidingNetwork, Question, VerifiedDecision } from './decision-cache.ts'

/** Seconds after which a caller asks again about an approval. */
export const POLL_SECONDS = 5

/** The signed request to the authority has the question inside of other objects, and the limit is 64 there. */
const MAX_DEPTH = 48

/** The answer to one AuthZEN question. */
type Evaluation = JsonObject & { readonly decision: boolean }

/** Refuses a client without the grant, then reads the body with the strict reader. */
async function readAsked(call: ClientCall): Promise<JsonObject> {
  if (!call.client.decisions) throw new GatewayRefusal('decisions_scope')
  const bytes = await readBody(call)
  // Read here and not in a thread, so that only small bodies are accepted.
  if (bytes.length > INLINE_BODY_BYTES) throw new GatewayRefusal('body_too_large')
  let value: JsonValue
  try {
    value = readJsonBytes(bytes, { ...READ_LIMITS, maxDepth: MAX_DEPTH })
  } catch (error) {
    if (error instanceof JsonError) throw new GatewayRefusal('invalid_json', undefined, { cause: error })
    throw error
  }
  if (!isJsonObject(value)) throw new GatewayRefusal('body_object_required')
  return value
}

async function readBody(call: ClientCall): Promise<Uint8Array> {
  try {
    return await call.readBody()
  } catch (error) {
    if (toRefusal(error)?.error !== 'content_type') throw error
    throw new GatewayRefusal('question_content_type', undefined, { cause: error as Error })
  }
}

/** Answers a question that is asked alone. */
async function answerOne(asked: JsonObject, call: ClientCall, parts: DecisionParts): Promise<Evaluation> {
  await countDecisions(call, 1, parts)
  return answerQuestion(asked, call, parts)
}

/**
 * Answers a question whose quota is claimed. `decision` is true only when the verified decision of the authority says
 * so. Every fault throws.
 */
async function answerQuestion(asked: JsonObject, call: ClientCall, parts: DecisionParts): Promise<Evaluation> {
  const question = readQuestion(asked, call)
  if ('denied' in question) return toDenial(question, call)
  call.context.network = question.network.name
  const decided = await decide(question, call, parts)
  if ('denied' in decided) return toDenial(decided, call)
  const { decision, wire, justification, context, waitsFor } = decided
  const { authorized, denial_reason, decision_valid_until } = decision
  const reason = waitsFor === undefined ? denial_reason : 'approval_required'
  return {
    decision: authorized,
    context: {
      ...(reason === null ? {} : { reason }),
      chancery: {
        decision: wire,
        // Ties the decision to its question: its digest is in the policy binding of the decision.
        context_record: context,
        valid_until: decision_valid_until,
        ...(waitsFor === undefined ? {} : { approval: { ...waitsFor, poll_after_seconds: POLL_SECONDS } }),
        ...(question.showsJustification ? { justification_proof: justification } : {}),
      },
    },
  }
}

function toDenial({ denied }: LocalDenial, call: ClientCall): Evaluation {
  recordRefused(call, denied)
  return { decision: false, context: { reason: denied } }
}

/**
 * POST /access/v1/evaluation
 * Answers one AuthZEN question. A denial is a 200 response with `decision: false`.
 */
async function accessEvaluation(call: ClientCall, parts: DecisionParts): Promise<HttpResponse> {
  return json(await answerOne(await readAsked(call), call, parts))
}

const DEFAULTS = ['subject', 'action', 'resource', 'context'] as const

/** The result after which no further question is answered. */
const ENDS_AT: ReadonlyMap<JsonValue, boolean | undefined> = new Map<JsonValue, boolean | undefined>([
  ['execute_all', undefined],
  ['deny_on_first_deny', false],
  ['permit_on_first_permit', true],
])

/**
 * POST /access/v1/evaluations
 * Answers several AuthZEN questions in their order. Without questions it behaves as the single form.
 */
async function accessEvaluations(call: ClientCall, parts: DecisionParts): Promise<HttpResponse> {
  const asked = await readAsked(call)
  const given = member(asked, 'evaluations')
  const items = given === undefined ? [] : given
  if (!Array.isArray(items)) return invalid('evaluations')
  const questions = items as readonly JsonValue[]
  // Above its quota a batch would be refused with 429 each time it is repeated.
  const maximum = Math.min(MAX_QUESTIONS, call.client.decisionsPerMinute)
  if (questions.length > maximum) throw new GatewayRefusal('questions_too_many', { maximum })
  const end = endOf(asked)
  if (questions.length === 0) return json(await answerOne(asked, call, parts))
  await countDecisions(call, questions.length, parts)
  const evaluations: Evaluation[] = []
  for (const item of questions) {
    call.checkDeadline()
    // A batch whose decisions are all reused must not delay other requests.
    await setImmediate()
    const evaluation = await answerItem(asked, item, call, parts)
    evaluations.push(evaluation)
    if (evaluation.decision === end) break
  }
  // A decision may end while later questions wait for an authority.
  const now = parts.clock.now()
  const answered = evaluations.map((each, index) => {
    if (!isEnded(each, now)) return each
    recordEnded(call, index)
    return ENDED
  })
  return json({ evaluations: answered })
}

const ENDED: Evaluation = { decision: false, context: { reason: 'decision_expired' } }

function isEnded({ context }: Evaluation, now: Instant): boolean {
  const ours = isJsonObject(context) ? member(context, 'chancery') : undefined
  const until = isJsonObject(ours) ? member(ours, 'valid_until') : undefined
  return typeof until === 'string' && instantOf(until) <= now
}

function endOf(asked: JsonObject): boolean | undefined {
  const options = member(asked, 'options')
  if (options === undefined) return undefined
  if (!isJsonObject(options)) return invalid('options')
  const semantic = member(options, 'evaluations_semantic')
  if (semantic === undefined) return undefined
  if (!ENDS_AT.has(semantic)) invalid('options.evaluations_semantic')
  return ENDS_AT.get(semantic)
}

/** A member of an item replaces the whole default. A faulty item is denied, with its error, and the others are answered. */
async function answerItem(
  asked: JsonObject,
  item: JsonValue,
  call: ClientCall,
  parts: DecisionParts,
): Promise<Evaluation> {
  try {
    if (!isJsonObject(item)) return invalid('evaluations')
    const members = DEFAULTS.flatMap((name) => {
      const own = member(item, name)
      // A null of an item replaces the default, too, and is refused.
      const value = own === undefined ? member(asked, name) : own
      return value === undefined ? [] : [[name, value] as const]
    })
    return await answerQuestion(Object.fromEntries(members), call, parts)
  } catch (error) {
    const refusal = toRefusal(error)
    if (refusal === undefined || refusal.error === 'deadline') throw error
    const { status, reason, message } = GATEWAY_ERRORS[refusal.error]
    recordRefused(call, reason)
    const details = refusal.details === undefined ? {} : { details: refusal.details }
    return { decision: false, context: { error: { status, message, reason, ...details } } }
  }
}

/**
 * GET /.well-known/authzen-configuration
 * Returns the AuthZEN metadata. Its addresses come from the policy file, never from a header of the caller.
 */
function authzenConfiguration({ trust }: GatewayCall): HttpResponse {
  const base = trust?.policy.decisionPointUrl
  if (base === undefined) throw new GatewayRefusal('route_not_found')
  return json({
    policy_decision_point: base,
    access_evaluation_endpoint: `${base}${GATEWAY_ROUTES.accessEvaluation.path}`,
    access_evaluations_endpoint: `${base}${GATEWAY_ROUTES.accessEvaluations.path}`,
  })
}

/** Opens the decision point: questions in the form of AuthZEN 1.0, answered with decisions of the authorities. */
export function openDecisions(core: Pick<Core, 'authorities' | 'clock' | 'ids' | 'metrics' | 'quota'>): Feature {
  const { authorities, clock, ids, metrics, quota } = core
  const [cache, verdicts] = [new DecisionCache(clock), new StoredVerdicts()]
  const parts: DecisionParts = { authorities, clock, ids, metrics, quota, cache, verdicts }
  return {
    routes: [
      { route: GATEWAY_ROUTES.accessEvaluation, client: (call) => accessEvaluation(call, parts) },
      { route: GATEWAY_ROUTES.accessEvaluations, client: (call) => accessEvaluations(call, parts) },
      { route: GATEWAY_ROUTES.authzenConfiguration, open: authzenConfiguration },
    ],
    jobs: [],
    close: async () => undefined,
  }
}
