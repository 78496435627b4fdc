import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { MAX_ADD_CHECKPOINT_LENGTH, fromUtf8 } from '@chancery/protocol'
import type { WitnessAnswer, WitnessService } from './witness-service.ts'

/** Requests that are computed at the same time. More are refused, and the log tries again. */
const MAX_REQUESTS = 64
const TEXT = 'text/plain; charset=utf-8'

/**
 * An HTTP server for a witness. Size and time of every request are limited before anything is computed. A body that
 * arrives slowly takes no place of another request.
 */
export function createWitnessServer(service: WitnessService, onError: (error: unknown) => void): Server {
  let running = 0
  const limits = {
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 5000,
    // How often the limits are checked; without it, every 30 s.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: 8192,
  }
  const server = createServer(limits, (request, response) => {
    void answer(request, (run) => {
      if (running >= MAX_REQUESTS) return Promise.resolve(BUSY)
      running += 1
      return run(service).finally(() => {
        running -= 1
      })
    })
      .catch((error: unknown): WitnessAnswer => {
        // A caller that goes away is no failure of the witness.
        if (!request.destroyed || request.complete) onError(error)
        return { status: 500, type: TEXT, body: 'The witness failed.\n' }
      })
      .then((said) => send(response, said))
  })
  server.maxConnections = 4 * MAX_REQUESTS
  return server
}

const BUSY: WitnessAnswer = { status: 503, type: TEXT, body: 'Too many requests.\n' }

/** Runs a request in one of the places. */
type Place = (run: (service: WitnessService) => Promise<WitnessAnswer>) => Promise<WitnessAnswer>

async function answer(request: IncomingMessage, inPlace: Place): Promise<WitnessAnswer> {
  const { method, url = '' } = request
  if (method === 'POST' && url === '/add-checkpoint') {
    const body = await readBody(request)
    if (body === undefined) return { status: 413, type: TEXT, body: 'The request is too long, or not UTF-8.\n' }
    return inPlace(async (service) => service.addCheckpoint(body))
  }
  const [, digest] = method === 'GET' ? (/^\/([0-9a-f]{64})\/checkpoint$/.exec(url) ?? []) : []
  if (digest !== undefined) return inPlace(async (service) => service.checkpoint(digest))
  return { status: 404, type: TEXT, body: 'There is no such endpoint.\n' }
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ADD_CHECKPOINT_LENGTH) return undefined
    chunks.push(chunk)
  }
  return fromUtf8(Buffer.concat(chunks))
}

function send(response: ServerResponse, { status, type, body }: WitnessAnswer): void {
  if (response.destroyed) return
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' }
  // What is left of a refused body is not read.
  response.writeHead(status, status === 413 || status === 503 ? { ...headers, connection: 'close' } : headers).end(body)
}

/** Ends the server: no new requests, and running ones are answered. */
export async function stopServer(server: Server): Promise<void> {
  server.close()
  server.closeIdleConnections()
  const force = setTimeout(() => server.closeAllConnections(), 5000)
  await once(server, 'close')
  clearTimeout(force)
}
