import type { Dispatcher } from 'undici'
import { OutboundError } from '@chancery/service-kit'

export interface UpstreamCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path and query, encoded. */
  readonly target: string
  /** Name, value pairs. */
  readonly headers: readonly string[]
  /** The trace of the caller. Sent only where the settings allow it. */
  readonly traceParent?: string | undefined
  /** The caller for which it is sent. Named to the authority only where the settings allow it. */
  readonly caller?: string | undefined
  readonly body?: Uint8Array | undefined
  /** For the whole call. */
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Called just before the request is sent. From then on it may have had an effect. */
  readonly onSend?: () => void
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Undefined when the body was larger than the limit. */
  readonly body: Buffer | undefined
}

/**
 * Sends one request and reads its response. It is sent once: after a failure the effect is unknown, so nothing is
 * retried.
 */
export class UpstreamExchange implements Dispatcher.DispatchHandler {
  readonly #call: UpstreamCall
  readonly #done = Promise.withResolvers<UpstreamResponse>()
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #headers: UpstreamResponse['headers'] = {}
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #wasSent = false

  constructor(call: UpstreamCall) {
    this.#call = call
  }

  run(dispatcher: Dispatcher): Promise<UpstreamResponse> {
    const { method, target, headers, body, timeoutMs } = this.#call
    this.#timer = setTimeout(() => this.#fail(this.#failure('timeout')), timeoutMs)
    try {
      dispatcher.dispatch({ method, path: target, headers: [...headers], body: body ?? null }, this)
    } catch (error) {
      clearTimeout(this.#timer)
      throw error
    }
    return this.#done.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The time limit passed while the request waited for a connection, so it must not be sent.
    if (this.#isOver) {
      controller.abort(new OutboundError('timeout'))
      return
    }
    this.#wasSent = true
    this.#call.onSend?.()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamResponse['headers'],
  ): void {
    // An interim response comes before the final one.
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    if (Number(headers['content-length'] ?? 0) > this.#call.maxBytes) this.#cutOff()
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    this.#size += chunk.length
    if (this.#size > this.#call.maxBytes) this.#cutOff()
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const [only] = this.#chunks
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks, this.#size)
    this.#settle({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#fail(this.#failure('unreachable', cause))
  }

  /** Stops a response that is too large. Its status is returned. */
  #cutOff(): void {
    this.#settle({ status: this.#status, headers: this.#headers, body: undefined })
    this.#controller?.abort(new OutboundError('too_large'))
  }

  #settle(response: UpstreamResponse): void {
    if (this.#isOver) return
    this.#end()
    this.#done.resolve(response)
  }

  #fail(failure: OutboundError): void {
    if (this.#isOver) return
    this.#end()
    this.#done.reject(failure)
    this.#controller?.abort(failure)
  }

  #failure(kind: OutboundError['kind'], cause?: Error): OutboundError {
    return new OutboundError(kind, { wasSent: this.#wasSent, ...(cause === undefined ? {} : { cause }) })
  }

  #end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}
