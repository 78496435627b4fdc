import { METHODS } from 'node:http'
import findMyWay from 'find-my-way'

/** The part of a route that the edge uses. */
export interface EdgeRoute {
  readonly method: string
  /** Segments in braces are parameters. */
  readonly path: string
  /** Set when the last parameter is the rest of the path, slashes included. */
  readonly tail?: boolean | undefined
}

export interface EdgeBinding {
  readonly route: EdgeRoute
}

export type PathParams = Readonly<Record<string, string>>

export interface RouteMatch<Binding> {
  readonly binding: Binding
  /** As sent: nothing is decoded. */
  readonly params: PathParams
}

export interface RouterOptions<Binding> {
  /** True when another spelling of a path, such as `/%76erify`, is another path. */
  readonly isExact: boolean
  readonly servesHead: (binding: Binding) => boolean
  /** Length limit of a target. */
  readonly maxLength: number
}

interface Entry<Binding> {
  readonly binding: Binding
  readonly segments: readonly string[]
  readonly hasParams: boolean
}

const NO_PARAMS: PathParams = Object.freeze({})

/**
 * Finds the binding of a request. The library decodes a path before it matches, so parameters are taken from the path
 * as sent, and where spelling counts, its literal segments are compared with those of the route.
 */
export class Router<Binding extends EdgeBinding> {
  readonly #router: findMyWay.Instance<findMyWay.HTTPVersion.V1>
  readonly #isExact: boolean
  readonly #methods: readonly string[]

  constructor(bindings: readonly Binding[], { isExact, servesHead, maxLength }: RouterOptions<Binding>) {
    // The services read queries themselves.
    this.#router = findMyWay({ maxParamLength: maxLength, querystringParser: () => NO_PARAMS })
    const methods = new Set<string>()
    for (const binding of bindings) {
      const { method, path } = binding.route
      const entry: Entry<Binding> = { binding, segments: path.split('/'), hasParams: path.includes('{') }
      for (const each of method === 'GET' && servesHead(binding) ? ['GET', 'HEAD'] : [method]) {
        methods.add(each)
        this.#router.on(each as 'GET', toLibraryPath(binding.route), () => undefined, entry)
      }
    }
    this.#isExact = isExact
    this.#methods = METHODS.filter((method) => methods.has(method))
  }

  find(method: string, target: string): RouteMatch<Binding> | undefined {
    // Where spelling counts, the library gets no percent sign to decode: no literal segment has one.
    const asked = this.#isExact && target.includes('%') ? target.replaceAll('%', '!') : target
    const found = this.#router.find(method as 'GET', asked)
    if (found === null) return undefined
    const entry = found.store as Entry<Binding>
    const path = pathOf(target)
    if (!entry.hasParams)
      return this.#isExact && path !== entry.binding.route.path
        ? undefined
        : { binding: entry.binding, params: NO_PARAMS }
    const params = this.#paramsOf(entry, path.split('/'))
    return params === undefined ? undefined : { binding: entry.binding, params }
  }

  /** Returns the methods a path takes, sorted. */
  methodsOf(target: string): string[] {
    return this.#methods.filter((method) => this.find(method, target) !== undefined).sort()
  }

  #paramsOf({ binding: { route }, segments }: Entry<Binding>, sent: readonly string[]): PathParams | undefined {
    const params: Record<string, string> = {}
    for (const [index, segment] of segments.entries()) {
      const isTail = route.tail === true && index === segments.length - 1
      const value = isTail ? sent.slice(index).join('/') : (sent[index] ?? '')
      if (segment.startsWith('{')) params[segment.slice(1, -1)] = value
      if (this.#isExact && (segment.startsWith('{') ? value === '' : segment !== value)) return undefined
    }
    return params
  }
}

/** Returns the target without its query, as sent. */
export function pathOf(target: string): string {
  const cut = target.indexOf('?')
  return cut < 0 ? target : target.slice(0, cut)
}

function toLibraryPath({ path, tail }: EdgeRoute): string {
  const named = path.replaceAll(/\{([a-z_]+)\}/g, ':$1')
  return tail === true ? named.replace(/:[a-z_]+$/, '*') : named
}
