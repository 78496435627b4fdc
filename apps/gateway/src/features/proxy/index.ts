import { AUTHORITY_SERVICE_ROUTE, GATEWAY_OPERATIONS, GATEWAY_ROUTES } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import type { ClientHandler } from '../../edge/call.ts'
import { forward } from './forward.ts'
import { type ProxyParts, SharedDocuments } from './shared-documents.ts'
import { ProxyReader } from './send.ts'
import { type HttpResponse, json, jsonText } from '@chancery/service-kit'

// Written once: it depends on the release only.
const TEXT = String(
  json({ operations: GATEWAY_OPERATIONS.map((each) => ({ ...each })), route_template: AUTHORITY_SERVICE_ROUTE }).body,
)

/**
 * GET /v1/services
 * Returns the operations of an authority that this release forwards.
 */
function services(): HttpResponse {
  return jsonText(TEXT)
}

/** Opens the forwarding of catalogued operations to the authorities. */
export function openProxy(core: Omit<ProxyParts, 'reader' | 'documents'>): Feature {
  const reader = new ProxyReader()
  const { authorities, clock, metrics } = core
  const parts: ProxyParts = { authorities, clock, metrics, reader, documents: new SharedDocuments() }
  const client: ClientHandler = (call) => forward(call, parts)
  return {
    routes: [
      { route: GATEWAY_ROUTES.services, open: services },
      { route: GATEWAY_ROUTES.forwardRead, client },
      { route: GATEWAY_ROUTES.forwardWrite, client },
      { route: GATEWAY_ROUTES.forwardDelete, client },
    ],
    jobs: [],
    close: () => reader.close(),
  }
}
