import type { GatewayAuditEventName } from '@chancery/contract'
import { type JsonObject, writeInstant } from '@chancery/protocol'
import type { Clock, Ids } from '@chancery/service-kit'

/** Builds an operator event for the audit. Its id stays the same through every delivery. */
export function operatorEvent(
  event: Exclude<GatewayAuditEventName, 'started' | 'completed'>,
  facts: JsonObject,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): JsonObject {
  return { event, event_id: `${event}:${ids.uuid()}`, ...facts, at: writeInstant(clock.now()) }
}
