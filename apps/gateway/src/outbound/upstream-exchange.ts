import type { Dispatcher } from 'undici'
import { OutboundFailure } from './call-url.ts'

export interface UpstreamCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path and query, encoded. */
  readonly target: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body?: Uint8Array | undefined
  /** From the first step to the last byte. */
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Called when it is about to leave on a connection: from then on nobody can say that it had no effect. */
  readonly onSend?: () => void
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Undefined when there was more than may be read. */
  readonly body: Buffer | undefined
}

/**
 * One request and its whole answer. Sent once: when it fails, nobody knows whether the authority acted, so nothing here
 * tries again.
 */
export class UpstreamExchange implements Dispatcher.DispatchHandler {
  readonly #call: UpstreamCall
  readonly #done = Promise.withResolvers<UpstreamAnswer>()
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #headers: UpstreamAnswer['headers'] = {}
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #wasSent = false

  constructor(call: UpstreamCall) {
    this.#call = call
  }

  run(dispatcher: Dispatcher): Promise<UpstreamAnswer> {
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
    // Its time passed while it waited for a connection: it must not be sent any more.
    if (this.#isOver) {
      controller.abort(new OutboundFailure('timeout'))
      return
    }
    this.#wasSent = true
    this.#call.onSend?.()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamAnswer['headers'],
  ): void {
    // An interim answer announces the real one.
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

  /** More than may be read: the status is known, the rest is not worth reading. */
  #cutOff(): void {
    this.#settle({ status: this.#status, headers: this.#headers, body: undefined })
    this.#controller?.abort(new OutboundFailure('too_large'))
  }

  #settle(answer: UpstreamAnswer): void {
    if (this.#isOver) return
    this.#end()
    this.#done.resolve(answer)
  }

  #fail(failure: OutboundFailure): void {
    if (this.#isOver) return
    this.#end()
    this.#done.reject(failure)
    this.#controller?.abort(failure)
  }

  #failure(kind: OutboundFailure['kind'], cause?: Error): OutboundFailure {
    return new OutboundFailure(kind, { wasSent: this.#wasSent, ...(cause === undefined ? {} : { cause }) })
  }

  #end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}
