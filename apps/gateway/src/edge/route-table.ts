import type { IncomingMessage } from 'node:http'
import { GatewayRefusal } from '@chancery/contract'
import type { Office } from '../office.ts'
import type { GatewayBinding } from './call.ts'

export interface RouteMatch {
  readonly binding: GatewayBinding<Office>
  /** The segments a template names, as sent. */
  readonly params: Readonly<Record<string, string>>
  /** What follows the question mark, as sent. */
  readonly query: string
}

type Methods = Map<string, GatewayBinding<Office>>
interface Template {
  readonly segments: readonly string[]
  readonly methods: Methods
}

const NO_PARAMS = Object.freeze({})

/** Finds the binding of a request by its path as sent: no decoding, so that no second spelling reaches a route. */
export class RouteTable {
  readonly #paths = new Map<string, Methods>()
  readonly #templates: readonly Template[]

  constructor(bindings: readonly GatewayBinding<Office>[]) {
    for (const binding of bindings) {
      // A handler for anyone on a route that needs a credential would be an open door.
      if ('open' in binding !== (binding.route.credential === 'none'))
        throw new Error(`${binding.route.path} is bound wrongly`)
      const methods: Methods = this.#paths.get(binding.route.path) ?? new Map()
      methods.set(binding.route.method, binding)
      // HEAD is for public reads only (protocol/gateway 5.2).
      if (binding.route.method === 'GET' && 'open' in binding) methods.set('HEAD', binding)
      this.#paths.set(binding.route.path, methods)
    }
    const templates = [...this.#paths].filter(([path]) => path.includes('{'))
    for (const [path] of templates) this.#paths.delete(path)
    this.#templates = templates.map(([path, methods]) => ({ segments: path.split('/'), methods }))
  }

  match(request: IncomingMessage): RouteMatch {
    const target = request.url ?? ''
    // Absolute and authority forms, and a fragment no client may send, are refused rather than interpreted.
    if (!target.startsWith('/') || target.includes('#')) throw new GatewayRefusal('malformed_request')
    const cut = target.indexOf('?')
    const path = cut < 0 ? target : target.slice(0, cut)
    const { methods, params } = this.#find(path)
    const binding = methods.get(request.method ?? '')
    if (binding !== undefined) return { binding, params, query: cut < 0 ? '' : target.slice(cut + 1) }
    throw new GatewayRefusal('route_method', undefined, { headers: { allow: [...methods.keys()].sort().join(', ') } })
  }

  #find(path: string): { readonly methods: Methods; readonly params: Readonly<Record<string, string>> } {
    const methods = this.#paths.get(path)
    if (methods !== undefined) return { methods, params: NO_PARAMS }
    const sent = path.split('/')
    for (const template of this.#templates) {
      const params = paramsOf(template.segments, sent)
      if (params !== undefined) return { methods: template.methods, params }
    }
    throw new GatewayRefusal('route_not_found')
  }
}

/** Segment by segment; an encoded slash separates nothing, and an empty segment is no value. */
function paramsOf(segments: readonly string[], sent: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (segments.length !== sent.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const value = sent[index] ?? ''
    if (!segment.startsWith('{')) {
      if (segment !== value) return undefined
    } else if (value === '') return undefined
    else params[segment.slice(1, -1)] = value
  }
  return params
}
