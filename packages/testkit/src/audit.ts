import type { JsonObject } from '@chancery/protocol'
import type { TestAnswer } from './callers.ts'

/** Where audit events are read: a test authority. */
export interface AuditTrail {
  auditEvents(type?: string): Promise<readonly JsonObject[]>
}

/** What a request left in the trail, by its request id: a standing clock gives no order. */
export async function eventsOf(na: AuditTrail, answer: TestAnswer): Promise<readonly JsonObject[]> {
  const events = await na.auditEvents()
  return events.filter((event) => detailsOf(event)['request_id'] === answer.headers['x-request-id'])
}

export function detailsOf(event: JsonObject | undefined): JsonObject {
  return (event?.['details'] ?? {}) as JsonObject
}
