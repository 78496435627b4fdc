import { AUTHORITY_SERVICE_ROUTE, GATEWAY_OPERATIONS } from '@chancery/contract'
import { json, jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'

// Written once: it is the same for everybody until the next release.
const TEXT = String(
  json({ operations: GATEWAY_OPERATIONS.map((each) => ({ ...each })), route_template: AUTHORITY_SERVICE_ROUTE }).body,
)

/**
 * GET /v1/services
 * The reviewed operations of an authority that this release forwards.
 */
export function services(): Answer {
  return jsonText(TEXT)
}
