import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { CallerGoneError, RequestVerifier, readBody } from '../request-proof/request-verifier.ts'
import type {
  RequestVerifierOptions,
  RequestVerifierRefusal,
  RequestVerifierResult,
} from '../request-proof/request-verifier.ts'
import type { NodeCaller } from '../request-proof/verify.ts'

/** A verified request: the calling node, and the signed body. */
export type SignedMessage = IncomingMessage & { readonly node: NodeCaller; readonly rawBody: Buffer }

export interface HttpRequestVerifierOptions extends RequestVerifierOptions {
  /** Called for every exception of the handler and of `trust`; a process warning when not given. */
  readonly onError?: (error: unknown, request: IncomingMessage) => void
}

/**
 * For plain node:http: `createServer(httpNodeProof(options, handler))`. A handler that throws is answered with 500; what
 * it threw is reported, but not sent to the caller.
 */
export function httpNodeProof(
  options: HttpRequestVerifierOptions,
  handler: (request: SignedMessage, response: ServerResponse) => void | Promise<void>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const verifier = new RequestVerifier(options)
  const tell = options.onError ?? warn
  return (request, response) => {
    void (async () => {
      const result = await check(verifier, request)
      if ('refusal' in result) return send(response, result.refusal)
      await handler(Object.assign(request, { node: result.node, rawBody: Buffer.from(result.body) }), response)
    })().catch((error: unknown) => {
      // The caller has disconnected.
      if (error instanceof CallerGoneError) return response.destroy()
      fail(response)
      tell(error, request)
    })
  }
}

/**
 * A response that has begun cannot be replaced, so the connection is closed. The caller then detects an incomplete
 * response.
 */
function fail(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else send(response, FAILED)
}

const FAILED = {
  status: 500,
  body: { error: { code: 'internal_server_error', message: 'The service failed.', details: {} } },
} as const

function warn(error: unknown): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning('A request behind httpNodeProof failed', { type: 'NodeProofWarning', detail })
}

/** The part of Express's request used here. */
type ExpressRequest = IncomingMessage & { readonly originalUrl: string; body?: unknown }

/**
 * For Express: `app.use(expressNodeProof(options))` before any body parser, then `request.node`. The body is read here,
 * since parsers keep no bytes to check a digest on; it is left in `request.body`, parsed when it is JSON.
 */
export function expressNodeProof(
  options: RequestVerifierOptions,
): (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void) => void {
  const verifier = new RequestVerifier(options)
  return (request, response, next) => {
    void (async () => {
      // After a parser the bytes are gone: an empty body would be compared, and every proof refused without a reason.
      if (request.readableEnded) throw new Error('expressNodeProof must stand before body parsers')
      const result = await check(verifier, request)
      if ('refusal' in result) return send(response, result.refusal)
      const rawBody = Buffer.from(result.body)
      Object.assign(request, { node: result.node, rawBody, body: parsed(request, rawBody), _body: true })
      next()
    })().catch(next)
  }
}

interface FastifyRequest {
  readonly raw: IncomingMessage
}
interface FastifyReply {
  code(status: number): { send(body: unknown): unknown }
}

/**
 * For Fastify: `app.addHook('preParsing', fastifyNodeProof(options))`, then `request.node`. The parser gets the body
 * after it was checked.
 */
export function fastifyNodeProof(
  options: RequestVerifierOptions,
): (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: Readable,
  done: (error: Error | null, payload?: Readable) => void,
) => void {
  const verifier = new RequestVerifier(options)
  return (request, reply, payload, done) => {
    const work = async (): Promise<Readable | undefined> => {
      const result = await check(verifier, request.raw, payload)
      if ('refusal' in result) {
        reply.code(result.refusal.status).send(result.refusal.body)
        return undefined
      }
      Object.assign(request, { node: result.node })
      const rest = Readable.from([Buffer.from(result.body)])
      // Fastify compares it with Content-Length.
      return Object.assign(rest, { receivedEncodedLength: result.body.length })
    }
    work().then(
      (checked) => {
        // Never called after a refusal. When a hook ends, Fastify continues, and checks only whether the response
        // was sent: while another plugin still works on it, or when the caller disconnected, the handler would run.
        if (checked !== undefined) done(null, checked)
      },
      (error: unknown) => done(error instanceof Error ? error : new Error('the proof could not be checked')),
    )
  }
}

async function check(
  verifier: RequestVerifier,
  request: IncomingMessage & { readonly originalUrl?: string },
  payload: AsyncIterable<Uint8Array> = request,
): Promise<RequestVerifierResult> {
  return verifier.check({
    method: request.method ?? '',
    // As received: Express removes the path of a mount from `url`, and Fastify may replace it by `rewriteUrl`.
    target: request.originalUrl ?? request.url ?? '',
    // headersDistinct keeps repeated fields apart; `headers` would join them.
    field: (name) => request.headersDistinct[name] ?? [],
    body: () => readBody(payload, verifier.maxBodyBytes),
  })
}

function parsed(request: IncomingMessage, body: Buffer): unknown {
  if (body.length === 0) return undefined
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) return body
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    // Left as bytes: the handler decides what a body that is not JSON means.
    return body
  }
}

function send(response: ServerResponse, { status, body }: RequestVerifierRefusal | typeof FAILED): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}
