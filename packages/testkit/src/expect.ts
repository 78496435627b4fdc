import { type JsonObject, isJsonObject } from '@chancery/protocol'
import type { TestResponse } from './callers.ts'

/** The error member of a refused answer; throws with what really came when it is another status or code. */
export function refused(answer: TestResponse, status: number, code: string): JsonObject {
  const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
  if (answer.status !== status || !isJsonObject(error) || error['code'] !== code) {
    throw new Error(`expected ${status} ${code}, got ${answer.status} ${answer.text.slice(0, 300)}`)
  }
  const isUnavailable = code === 'service_unavailable' || code === 'evidence_store_unavailable'
  const { details } = error
  if (isUnavailable && !(isJsonObject(details) && typeof details['reason'] === 'string'))
    throw new Error(`expected a reason with ${code}, got ${answer.text.slice(0, 300)}`)
  return error
}

/** The JSON object of an accepted answer. */
export function accepted(answer: TestResponse, status = 200): JsonObject {
  if (answer.status !== status || !isJsonObject(answer.json)) {
    throw new Error(`expected ${status}, got ${answer.status} ${answer.text.slice(0, 300)}`)
  }
  return answer.json
}
