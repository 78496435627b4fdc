import { GatewayRefusal } from '@chancery/contract'
import { JsonError, READ_LIMITS, isJsonObject, readJsonBytes } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { ClientCall } from '../../edge/call.ts'
import { toRefusal } from '../../edge/error-body.ts'
import { INLINE_BODY_BYTES } from '../../threads/fair-thread.ts'
import { countDecisions, decide, recordRefused } from './decide.ts'
import type { DecisionParts } from './parts.ts'
import type { LocalDenial } from './question.ts'
import { readQuestion } from './read-question.ts'

/** The signed request to the authority has the question inside of other objects, and the limit is 64 there. */
const MAX_DEPTH = 48

/** The answer to one AuthZEN question. */
export type Evaluation = JsonObject & { readonly decision: boolean }

/** Refuses a client without the grant, then reads the body with the strict reader. */
export async function readAsked(call: ClientCall): Promise<JsonObject> {
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
export async function answerOne(asked: JsonObject, call: ClientCall, parts: DecisionParts): Promise<Evaluation> {
  await countDecisions(call, 1, parts)
  return answerQuestion(asked, call, parts)
}

/**
 * Answers a question whose quota is claimed. `decision` is true only when the verified decision of the authority says
 * so. Every fault throws.
 */
export async function answerQuestion(asked: JsonObject, call: ClientCall, parts: DecisionParts): Promise<Evaluation> {
  const question = readQuestion(asked, call)
  if ('denied' in question) return toDenial(question, call)
  call.context.network = question.network.name
  const decided = await decide(question, call, parts)
  if ('denied' in decided) return toDenial(decided, call)
  const { decision, wire, justification, context } = decided
  const { authorized, denial_reason, decision_valid_until } = decision
  return {
    decision: authorized,
    context: {
      ...(denial_reason === null ? {} : { reason: denial_reason }),
      chancery: {
        decision: wire,
        // Ties the decision to its question: its digest is in the policy binding of the decision.
        context_record: context,
        valid_until: decision_valid_until,
        ...(question.showsJustification ? { justification_proof: justification } : {}),
      },
    },
  }
}

function toDenial({ denied }: LocalDenial, call: ClientCall): Evaluation {
  recordRefused(call, denied)
  return { decision: false, context: { reason: denied } }
}
