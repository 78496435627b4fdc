import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import type { ClientHandler } from '../../edge/call.ts'
import { forward } from './forward.ts'
import type { ProxyParts } from './parts.ts'
import { ProxyReader } from './proxy-reader.ts'
import { services } from './services.ts'
import { SharedDocuments } from './shared-documents.ts'

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
