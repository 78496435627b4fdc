import { Agent, request } from 'node:http'

export interface RecordedResponse {
  readonly status: number
  readonly text: string
  readonly etag: string | undefined
  readonly milliseconds: number
}

export interface KeptRequest {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A caller with keep-alive connections, so that it measures the response without the handshake. */
export class KeepAliveClient {
  readonly #agent = new Agent({ keepAlive: true })
  readonly #url: URL

  constructor(url: string) {
    this.#url = new URL(url)
  }

  send({ method, path, body, headers = {} }: KeptRequest): Promise<RecordedResponse> {
    const { hostname, port } = this.#url
    const sized =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    return new Promise((resolve, reject) => {
      const started = performance.now()
      const options = { hostname, port, method, path, agent: this.#agent, headers: { ...sized, ...headers } }
      const call = request(options, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const milliseconds = performance.now() - started
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: answer.statusCode ?? 0, text, etag: answer.headers.etag, milliseconds })
        })
      })
      // A keep-alive connection may be closed at the moment it is used again. A retry is safe for reads only.
      call.on('error', (error) => {
        if (method === 'GET' && call.reusedSocket) resolve(this.send({ method, path, headers }))
        else reject(error)
      })
      call.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Returns the quantile for a share; not-a-number without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function figures(values: readonly number[]): string {
  const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)]
  return `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`
}
