import { health } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { ResponseError, RefusedError, UnreachableError } from '../errors.ts'

export interface Liveness {
  readonly status: string
}

export interface Health {
  /** healthy, degraded or unhealthy. */
  readonly status: string
  /** Reasons; empty when it is healthy, and from authorities that do not report them. */
  readonly reasons: readonly string[]
  readonly network: string
  readonly version: string
  readonly boundary_policies: string
  readonly boundary_policy_enforcement: string
  readonly evidence_store: string
}

/** All but the status is undefined where the authority reports it on its management listener only. */
export interface Readiness {
  readonly status: string
  readonly instance: string | undefined
  readonly ha_mode: string | undefined
  readonly database:
    | {
        readonly backend: string
        readonly expected_schema_version: number
        readonly writable: boolean
        readonly schema_version: number | null
      }
    | undefined
  readonly signing_key:
    | {
        readonly key_id: string
        readonly provider: string
        readonly fingerprint: string
        /** The end of its window; null where the authority does not report it. */
        readonly valid_to: string | null
        readonly expires_in_seconds: number | null
      }
    | undefined
  /** Actions for the operator; the authority is still ready. */
  readonly warnings: readonly string[]
  readonly rate_limiter: string | undefined
  /** Reported on the machine of the authority only. */
  readonly db_path: string | undefined
}

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

export interface HealthApi {
  /** Returns when the process responds. */
  healthz(options?: CallOptions): Promise<Liveness>
  /** Returns the clock offset from the Date header; undefined when a proxy removed it. Sent once. */
  clock(options?: CallOptions): Promise<ClockReading | undefined>
  /**
   * Returns when ready, or throws RefusedError service_not_ready with the checks as details. Sent once, without
   * retries.
   */
  readyz(options?: CallOptions): Promise<Readiness>
  health(options?: CallOptions): Promise<Health>
  /** Checks the readiness of every instance once; never throws for an instance that is not ready. */
  endpoints(options?: CallOptions): Promise<readonly EndpointState[]>
  /** Returns Prometheus text; deployments serve the route on a management interface. */
  metrics(options?: CallOptions): Promise<string>
}

const word = shape.required(shape.string)
const count = shape.integer(0, Number.MAX_SAFE_INTEGER)

const readLiveness = shape.open({ status: word })

const codes = shape.withDefault<readonly string[]>(shape.arrayOf(shape.string, { max: 100 }), [])

const readHealth = shape.open({
  status: word,
  reasons: codes,
  network: word,
  version: word,
  boundary_policies: word,
  boundary_policy_enforcement: word,
  evidence_store: word,
})

const perhaps = <Value>(read: Parameters<typeof shape.required<Value>>[0]) =>
  shape.withDefault<Value | undefined>(read, undefined)

const readReadiness = shape.open({
  status: word,
  instance: perhaps(shape.string),
  ha_mode: perhaps(shape.string),
  database: perhaps(
    shape.open({
      backend: word,
      expected_schema_version: shape.required(count),
      writable: shape.required(shape.boolean),
      schema_version: shape.required(shape.nullable(count)),
    }),
  ),
  signing_key: perhaps(
    shape.open({
      key_id: word,
      provider: word,
      fingerprint: word,
      valid_to: shape.withDefault<string | null>(shape.string, null),
      expires_in_seconds: shape.withDefault<number | null>(
        shape.integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
        null,
      ),
    }),
  ),
  warnings: codes,
  rate_limiter: perhaps(shape.string),
  db_path: perhaps(shape.string),
})

export function healthApi({ call, clock, endpoints }: Connection): HealthApi {
  const endpoint = async (at: string, options: CallOptions | undefined): Promise<EndpointState> => {
    try {
      await call({ route: health.readyz, read: json((value) => readReadiness(value, '')), retry: 'never', at, options })
      return { url: at, ready: true, problem: undefined }
    } catch (error) {
      if (error instanceof RefusedError) return { url: at, ready: false, problem: error.receivedCode }
      if (error instanceof UnreachableError)
        return { url: at, ready: false, problem: error.systemCode ?? 'unreachable' }
      if (error instanceof ResponseError) return { url: at, ready: false, problem: `status ${error.status}` }
      throw error
    }
  }
  return {
    clock: async (options) => {
      const before = clock()
      const dateMs = await call({ route: health.healthz, read: ({ dateMs: found }) => found, retry: 'never', options })
      if (dateMs === undefined) return undefined
      const [middle, half] = [(before + clock()) / 2n, (clock() - before) / 2n]
      // The header has whole seconds, so half a second is missing on average.
      const offsetSeconds = (Number(middle / 1000n) - dateMs - 500) / 1000
      return { offsetSeconds, precisionSeconds: 0.5 + Number(half) / 1_000_000 }
    },
    healthz: (options) => call({ route: health.healthz, read: json((value) => readLiveness(value, '')), options }),
    readyz: (options) =>
      call({ route: health.readyz, read: json((value) => readReadiness(value, '')), retry: 'never', options }),
    health: (options) => call({ route: health.health, read: json((value) => readHealth(value, '')), options }),
    endpoints: (options) => Promise.all(endpoints.map((at) => endpoint(at, options))),
    metrics: (options) => call({ route: health.metrics, read: text, options }),
  }
}
