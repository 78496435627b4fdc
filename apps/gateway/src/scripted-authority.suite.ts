import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface SeenRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * The response. `silent` sends none, `cut` closes the connection instead, `half` closes it in the middle of the
 * response.
 */
export interface Script {
  readonly status?: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly does?: 'silent' | 'cut' | 'half' | 'stream'
}

export interface ScriptedAuthority {
  readonly url: string
  readonly seen: SeenRequest[]
  answer: (request: SeenRequest) => Script
  stop(): Promise<void>
}

/** Starts an authority over real HTTP that responds as the test sets it. */
export async function startScriptedAuthority(): Promise<ScriptedAuthority> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => void serve(request, response))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const authority: ScriptedAuthority = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    answer: () => ({}),
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
  return authority

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { method = '', url: target = '', headers } = request
    const seen = { method, target, headers, body: Buffer.concat(chunks).toString('utf8') }
    authority.seen.push(seen)
    const { status = 200, body = '{}', headers: more = {}, does } = authority.answer(seen)
    if (does === 'silent') return
    if (does === 'cut') request.socket.destroy()
    else if (does === 'half') half(response)
    else if (does === 'stream') stream(response)
    else response.writeHead(status, { 'content-type': 'application/json', ...more }).end(body)
  }
}

/** Announces more bytes than it sends, then closes. */
function half(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
  response.write('{"token_id":', () => response.destroy())
}

/** Sends three megabytes without a content-length header. */
function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.on('error', () => undefined)
  for (let n = 0; n < 48; n += 1) response.write(' '.repeat(65_536))
  response.end('{}')
}
