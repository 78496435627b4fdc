import type { IncomingMessage } from 'node:http'
import { GatewayRefusal } from '@chancery/contract'
import type { Office } from '../office.ts'
import type { GatewayBinding } from './call.ts'

/** Finds the binding of a request by its path as sent: no decoding, so that no second spelling reaches a route. */
export class RouteTable {
  readonly #paths = new Map<string, Map<string, GatewayBinding<Office>>>()

  constructor(bindings: readonly GatewayBinding<Office>[]) {
    for (const binding of bindings) {
      // A handler for anyone on a route that needs a credential would be an open door.
      if ('open' in binding !== (binding.route.credential === 'none'))
        throw new Error(`${binding.route.path} is bound wrongly`)
      const methods = this.#paths.get(binding.route.path) ?? new Map<string, GatewayBinding<Office>>()
      methods.set(binding.route.method, binding)
      // HEAD is for public reads only (protocol/gateway 5.2).
      if (binding.route.method === 'GET' && 'open' in binding) methods.set('HEAD', binding)
      this.#paths.set(binding.route.path, methods)
    }
  }

  match(request: IncomingMessage): GatewayBinding<Office> {
    const target = request.url ?? ''
    // Absolute and authority forms, and a fragment no client may send, are refused rather than interpreted.
    if (!target.startsWith('/') || target.includes('#')) throw new GatewayRefusal('malformed_request')
    const cut = target.indexOf('?')
    const methods = this.#paths.get(cut < 0 ? target : target.slice(0, cut))
    if (methods === undefined) throw new GatewayRefusal('route_not_found')
    const binding = methods.get(request.method ?? '')
    if (binding !== undefined) return binding
    throw new GatewayRefusal('route_method', undefined, { headers: { allow: [...methods.keys()].sort().join(', ') } })
  }
}
