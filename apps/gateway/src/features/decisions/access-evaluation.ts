import { type HttpResponse, json } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import { answerOne, readAsked } from './answer-question.ts'
import type { DecisionParts } from './parts.ts'

/**
 * POST /access/v1/evaluation
 * Answers one AuthZEN question. A denial is a 200 response with `decision: false`.
 */
export async function accessEvaluation(call: ClientCall, parts: DecisionParts): Promise<HttpResponse> {
  return json(await answerOne(await readAsked(call), call, parts))
}
