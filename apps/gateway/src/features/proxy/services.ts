import { AUTHORITY_SERVICE_ROUTE, GATEWAY_OPERATIONS } from '@chancery/contract'
import { type HttpResponse, json, jsonText } from '@chancery/service-kit'

// Written once: it depends on the release only.
const TEXT = String(
  json({ operations: GATEWAY_OPERATIONS.map((each) => ({ ...each })), route_template: AUTHORITY_SERVICE_ROUTE }).body,
)

/**
 * GET /v1/services
 * Returns the operations of an authority that this release forwards.
 */
export function services(): HttpResponse {
  return jsonText(TEXT)
}
