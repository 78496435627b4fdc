import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JsonObject, type JsonValue, readJsonBytes, verifyOperatorRequest, writeJson } from '@chancery/protocol'

export interface Received {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

export interface Reply {
  readonly status?: number
  readonly json?: JsonValue
  readonly raw?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Breaks the connection instead of answering. */
  readonly destroy?: true
  /** Never answers. */
  readonly hang?: true
}

export interface TestServer {
  readonly url: string
  readonly received: Received[]
  close(): Promise<void>
}

/** A real server on a free port; `reply` says what each request gets. */
export async function listen(reply: (request: Received, count: number) => Reply | Promise<Reply>): Promise<TestServer> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const seen = await receive(request)
      received.push(seen)
      answer(response, await reply(seen, received.length))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received, close: () => close(server) }
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply.hang === true) return
  if (reply.destroy === true) {
    response.destroy()
    return
  }
  response.writeHead(reply.status ?? 200, { 'X-Request-ID': 'from-the-server', ...reply.headers })
  response.end(reply.raw ?? writeJson(reply.json ?? {}))
}

async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    headers: request.headers,
    body: Buffer.concat(chunks),
  }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

/** An error envelope as the authority sends it. */
export function refusal(
  status: number,
  code: string,
  details: JsonObject = {},
  headers: Record<string, string> = {},
): Reply {
  return {
    status,
    json: { error: { code, message: `message of ${code}`, details, request_id: 'from-the-server' } },
    headers,
  }
}

/** Verifies a request like the authority: from the received bytes only. */
export async function isSignedFor(audience: string, publicKey: string, request: Received): Promise<boolean> {
  const header = (name: string): string => String(request.headers[name] ?? '')
  const [path = '', search = ''] = request.target.split('?')
  const query: Record<string, string[]> = {}
  for (const [name, value] of new URLSearchParams(search)) (query[name] ??= []).push(value)
  const facts = {
    method: request.method,
    path: decodeURIComponent(path),
    query,
    audience,
    body: request.body.length === 0 ? {} : (readJsonBytes(request.body) as JsonObject),
    key_id: header('x-admin-key-id'),
    timestamp: header('x-admin-timestamp'),
    nonce: header('x-admin-nonce'),
  }
  return verifyOperatorRequest(facts, header('x-admin-signature'), publicKey)
}
