import { visible } from '@chancery/protocol'
import type { Log } from '../log/log.ts'
import { type Reader, SettingError } from '../settings/readers.ts'

export interface AccessLogOptions {
  readonly log: Log
  readonly instance: string
  /** One in this many ordinary requests is logged; refusals and slow requests always. With 0 only failures are. */
  readonly every: number
}

/** Reads `all`, `failures`, or a part of the ordinary requests such as `1/100`, to {@link AccessLogOptions.every}. */
export const accessLogEvery: Reader<number> = (value) => {
  if (value === 'failures') return 0
  const every = value === 'all' ? '1' : /^1\/([1-9]\d{0,5}|1000000)$/.exec(value)?.[1]
  if (every === undefined) throw new SettingError('must be all, failures, or a part such as 1/100')
  return Number(every)
}

/** One request and its result. */
export interface AccessEntry {
  readonly requestId: string
  /** Method and path template, never the requested path or query. */
  readonly route: string
  readonly status: number
  readonly milliseconds: number
  /** The kind of authenticated caller, a fixed name of the service; `anonymous` when there is none. */
  readonly caller: string
  /** Left out for requests that were refused before their headers were read, and by the gateway. */
  readonly clientAddress?: string | undefined
  /** The checked trace id of the caller's `traceparent`. */
  readonly traceId?: string | undefined
  readonly code: string | undefined
  /** The cause of a failure of the service. */
  readonly cause: unknown
  /** True for health and metrics, which are requested every few seconds. */
  readonly isProbe: boolean
}

const MAX_CAUSE = 256
/** From here on a request is slow. */
const SLOW_MS = 1000

/** Writes one line per request. The only texts of a caller in it are the checked ids of request and trace. */
export class AccessLog {
  readonly #log: Log
  readonly #instance: string
  readonly #every: number
  #ordinary = 0

  constructor({ log, instance, every }: AccessLogOptions) {
    this.#log = log
    this.#instance = instance
    this.#every = every
  }

  note(entry: AccessEntry): void {
    const { status, milliseconds, isProbe } = entry
    // A failed probe is logged once, as lost readiness.
    if (isProbe) this.#log.debug('request', this.#fields(entry))
    else if (status >= 500) this.#log.error('request', { ...this.#fields(entry), ...describeCause(entry.cause) })
    else if (this.#every === 0) return
    else if (status >= 400 || milliseconds >= SLOW_MS || this.#isDrawn()) this.#log.info('request', this.#fields(entry))
  }

  #isDrawn(): boolean {
    this.#ordinary += 1
    if (this.#ordinary < this.#every) return false
    this.#ordinary = 0
    return true
  }

  #fields({ requestId, route, status, milliseconds, caller, clientAddress, traceId, code }: AccessEntry) {
    return {
      request_id: requestId,
      route,
      status,
      code,
      duration_ms: Math.round(milliseconds * 100) / 100,
      caller,
      client_address: clientAddress,
      trace_id: traceId,
      instance: this.#instance,
    }
  }
}

/** Returns the message and the causes as one line. The stack of a bug is logged separately. */
function describeCause(thrown: unknown): { readonly message?: string; readonly cause?: string } {
  if (!(thrown instanceof Error)) return {}
  const causes: string[] = []
  // Limited, because a chain of causes may be a circle.
  for (let { cause } = thrown; cause instanceof Error && causes.length < 4; { cause } = cause)
    causes.push(`${cause.name}: ${cause.message}`)
  const message = visible(`${thrown.name}: ${thrown.message}`, { maxLength: MAX_CAUSE })
  return causes.length === 0 ? { message } : { message, cause: visible(causes.join(' < '), { maxLength: MAX_CAUSE }) }
}
