import type { ServerResponse } from 'node:http'

/** Bytes of one stream that the caller has not read. A caller with more is disconnected. */
const UNREAD_BYTES = 65_536
/** A stopping process waits this long for a caller to read the end of its stream. */
const END_MS = 500

/** Writes to an open response. All functions do nothing once the response is over. */
export interface StreamWriter {
  write(text: string): void
  end(): void
}

/** A response that stays open. It uses no slot for requests, so the service must limit how many it opens. */
export class StreamResponse {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  /** Called when the head is sent. Returns what is called once when the response is over, by either side. */
  readonly start: (writer: StreamWriter) => () => void

  constructor(
    contentType: string,
    start: (writer: StreamWriter) => () => void,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.contentType = contentType
    this.start = start
    this.headers = headers
  }
}

/** The open streams of one server. */
export class Streams {
  readonly #open = new Set<ServerResponse>()
  #isStopping = false

  get size(): number {
    return this.#open.size
  }

  /** Takes over a response whose head is sent. */
  open(response: ServerResponse, { start }: StreamResponse): void {
    if (response.destroyed || this.#isStopping || response.req.method === 'HEAD') {
      response.end()
      return
    }
    this.#open.add(response)
    // The caller sees the head before the first event.
    response.flushHeaders()
    const onOver = start({ write: (text) => writeTo(response, text), end: () => response.end() })
    response.once('close', () => {
      this.#open.delete(response)
      onOver()
    })
  }

  /** Ends all streams, and those that are opened later, so that a stop does not wait for them. */
  stop(): void {
    this.#isStopping = true
    for (const response of this.#open) {
      const timer = setTimeout(() => response.destroy(), END_MS)
      response.once('close', () => clearTimeout(timer))
      response.end()
    }
  }
}

function writeTo(response: ServerResponse, text: string): void {
  if (response.destroyed || response.writableEnded) return
  response.write(text)
  if (response.writableLength > UNREAD_BYTES) response.destroy()
}
