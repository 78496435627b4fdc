import { type Readiness, health } from '@chancery/contract'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { ResponseError, RefusedError, UnreachableError } from '../errors.ts'

export interface ClockReading {
  /** Local clock minus that of the authority, in seconds. */
  readonly offsetSeconds: number
  /** Maximum error of the offset: half the time of the call, and half a second of the header. */
  readonly precisionSeconds: number
}

export interface EndpointState {
  readonly url: string
  readonly ready: boolean
  /** Reason: a code of the authority, or a code of the platform such as ECONNREFUSED. */
  readonly problem: string | undefined
}

/** `healthz` returns when the process responds. */
export interface HealthApi extends Omit<RouteApi<typeof health>, 'readyz'> {
  /** Returns the clock offset from the Date header; undefined when a proxy removed it. Sent once. */
  clock(options?: CallOptions): Promise<ClockReading | undefined>
  /**
   * Returns when ready, or throws RefusedError service_not_ready with the checks as details. Sent once, without
   * retries.
   */
  readyz(options?: CallOptions): Promise<Readiness>
  /** Checks the readiness of every instance once; never throws for an instance that is not ready. */
  endpoints(options?: CallOptions): Promise<readonly EndpointState[]>
  /** Returns Prometheus text; deployments serve the route on a management interface. */
  metrics(options?: CallOptions): Promise<string>
}

const readReadiness = json((value) => health.readyz.answer(value, ''))

export function healthApi(connection: Connection): HealthApi {
  const { call, clock, endpoints } = connection
  const endpoint = async (at: string, options: CallOptions | undefined): Promise<EndpointState> => {
    try {
      await call({ route: health.readyz, read: readReadiness, retry: 'never', at, options })
      return { url: at, ready: true, problem: undefined }
    } catch (error) {
      if (error instanceof RefusedError) return { url: at, ready: false, problem: error.code }
      if (error instanceof UnreachableError)
        return { url: at, ready: false, problem: error.systemCode ?? 'unreachable' }
      if (error instanceof ResponseError) return { url: at, ready: false, problem: `status ${error.status}` }
      throw error
    }
  }
  return {
    ...routeApi(health, connection),
    clock: async (options) => {
      const before = clock()
      const dateMs = await call({ route: health.healthz, read: ({ dateMs: found }) => found, retry: 'never', options })
      if (dateMs === undefined) return undefined
      const [middle, half] = [(before + clock()) / 2n, (clock() - before) / 2n]
      // The header has whole seconds, so half a second is missing on average.
      const offsetSeconds = (Number(middle / 1000n) - dateMs - 500) / 1000
      return { offsetSeconds, precisionSeconds: 0.5 + Number(half) / 1_000_000 }
    },
    readyz: (options) => call({ route: health.readyz, read: readReadiness, retry: 'never', options }),
    endpoints: (options) => Promise.all(endpoints.map((at) => endpoint(at, options))),
    metrics: (options) => call({ route: health.metrics, read: text, options }),
  }
}
