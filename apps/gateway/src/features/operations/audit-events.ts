import { GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { OperationsParts } from './parts.ts'

/** The newest events are searched: request ids have no index, and a search must not delay the writer. */
const SEARCHED_EVENTS = 5000

/**
 * GET /v1/audit/{request_id}
 * Returns the stored events of one request of this caller. A request of another client is not distinguishable from none.
 */
export async function auditEvents({ client, params }: ClientCall, { state }: OperationsParts): Promise<HttpResponse> {
  const request_id = params['request_id'] ?? ''
  if (!REQUEST_ID_PATTERN.test(request_id)) throw new GatewayRefusal('parameter_invalid')
  const found = (await state?.findEvents(request_id, SEARCHED_EVENTS)) ?? []
  const isOwn = found.some((event) => isJsonObject(event['context']) && event['context']['client_id'] === client.id)
  const events: readonly JsonObject[] = isOwn ? found : []
  return json({ request_id, durable_audit: state !== undefined, searched_events: SEARCHED_EVENTS, events })
}
