import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import type { ClientHandler } from '../../edge/call.ts'
import { forward } from './forward.ts'
import type { ProxyParts } from './parts.ts'
import { ProxyReader } from './proxy-reader.ts'
import { services } from './services.ts'

/** Opens the forwarding of catalogued operations to the authorities. */
export function openProxy(core: Omit<ProxyParts, 'reader'>): Feature {
  const reader = new ProxyReader()
  const parts: ProxyParts = { authorities: core.authorities, clock: core.clock, metrics: core.metrics, reader }
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
