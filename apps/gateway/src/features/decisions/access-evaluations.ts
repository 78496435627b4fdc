import { setImmediate } from 'node:timers/promises'
import { GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import { type Instant, type JsonObject, type JsonValue, instantOf, isJsonObject, member } from '@chancery/protocol'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import { toRefusal } from '../../edge/error-body.ts'
import { MAX_QUESTIONS } from '../../policy/policy.ts'
import { type Evaluation, answerOne, answerQuestion, readAsked } from './answer-question.ts'
import { countDecisions, recordEnded, recordRefused } from './decide.ts'
import type { DecisionParts } from './parts.ts'
import { invalid } from './read-question.ts'

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
export async function accessEvaluations(call: ClientCall, parts: DecisionParts): Promise<HttpResponse> {
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
