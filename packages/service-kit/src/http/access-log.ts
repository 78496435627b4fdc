import { visible } from '@chancery/protocol'
import type { Log } from '../log/log.ts'

export interface AccessLogOptions {
  readonly log: Log
  readonly instance: string
  /** The level of lines about requests that did not fail on our side; off writes none of them. */
  readonly level: 'off' | 'debug' | 'info'
  /** Of ordinary requests one in so many has a line. Refusals, failures and slow requests have one each. */
  readonly every: number
  readonly slowMs: number
}

/** One request and what became of it. */
export interface AccessEntry {
  readonly requestId: string
  /** Method and path template, never the path or the query that was asked for. */
  readonly route: string
  readonly status: number
  readonly milliseconds: number
  /** The kind of caller that was proven, `anonymous` when none was; a fixed word of the service. */
  readonly caller: string
  readonly code: string | undefined
  /** The cause of a failure of the service. */
  readonly cause: unknown
  /** Health and metrics, which are asked every few seconds. */
  readonly isProbe: boolean
}

const MAX_CAUSE = 256

/** One line per request. The fields are chosen here, so nothing a caller wrote gets into a line but a request id. */
export class AccessLog {
  readonly #log: Log
  readonly #instance: string
  readonly #write: Log['info'] | undefined
  readonly #every: number
  readonly #slowMs: number
  #ordinary = 0

  constructor({ log, instance, level, every, slowMs }: AccessLogOptions) {
    this.#log = log
    this.#instance = instance
    this.#write = level === 'off' ? undefined : log[level]
    this.#every = every
    this.#slowMs = slowMs
  }

  note(entry: AccessEntry): void {
    const { status, milliseconds, isProbe } = entry
    // A failed probe is logged once, by the event of lost readiness.
    if (isProbe) this.#log.debug('request', this.#fields(entry))
    else if (status >= 500) this.#log.error('request', { ...this.#fields(entry), ...describeCause(entry.cause) })
    else if (this.#write === undefined) return
    else if (status >= 400 || milliseconds >= this.#slowMs || this.#isDrawn())
      this.#write('request', this.#fields(entry))
  }

  #isDrawn(): boolean {
    this.#ordinary += 1
    if (this.#ordinary < this.#every) return false
    this.#ordinary = 0
    return true
  }

  #fields({ requestId, route, status, milliseconds, caller, code }: AccessEntry) {
    return {
      request_id: requestId,
      route,
      status,
      code,
      duration_ms: Math.round(milliseconds * 100) / 100,
      caller,
      instance: this.#instance,
    }
  }
}

/** Message and causes, in one line each; the stack of a bug is in a separate line. */
function describeCause(thrown: unknown): { readonly message?: string; readonly cause?: string } {
  if (!(thrown instanceof Error)) return {}
  const causes: string[] = []
  // Bounded, because a chain of causes may be a circle.
  for (let { cause } = thrown; cause instanceof Error && causes.length < 4; { cause } = cause)
    causes.push(`${cause.name}: ${cause.message}`)
  const message = visible(`${thrown.name}: ${thrown.message}`, { maxLength: MAX_CAUSE })
  return causes.length === 0 ? { message } : { message, cause: visible(causes.join(' < '), { maxLength: MAX_CAUSE }) }
}
