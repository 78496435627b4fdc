import type { JsonObject } from '@chancery/protocol'
import type { TestResponse } from './callers.ts'
import { accepted } from './expect.ts'
import type { TestAuthority } from './start-authority.ts'

/** Where audit events are read: a test authority. */
export interface AuditTrail {
  auditEvents(type?: string): Promise<readonly JsonObject[]>
}

/** What a request left in the trail, by its request id: a standing clock gives no order. */
export async function eventsOf(na: AuditTrail, answer: TestResponse): Promise<readonly JsonObject[]> {
  const events = await na.auditEvents()
  return events.filter((event) => detailsOf(event)['request_id'] === answer.headers['x-request-id'])
}

/** What callers left in the trail. The authority refreshes its list and its feed when it wants; a test that counts must not see that. */
export async function eventsOfCallers(na: AuditTrail): Promise<readonly JsonObject[]> {
  return (await na.auditEvents()).filter((event) => detailsOf(event)['cause'] !== 'refresh')
}

/**
 * The first list and the first feed, which jobs publish some seconds after the start: for a test that looks at ALL audit
 * events or heads, so that none comes in between.
 */
export async function publishFirst(na: Pick<TestAuthority, 'request'>): Promise<void> {
  for (const path of ['/crl', '/sovereign-revocation-feed']) accepted(await na.request('GET', path))
}

export function detailsOf(event: JsonObject | undefined): JsonObject {
  return (event?.['details'] ?? {}) as JsonObject
}
