import { targetOf } from './wimse.ts'
import { RequestVerifier, type RequestVerifierOptions, type RequestVerifierRefusal } from './request-verifier.ts'
import type { NodeCaller } from './verify.ts'

/** What a server with web requests knows besides the request: that of Hono for Node.js has the request as received. */
interface WebServerParts {
  readonly incoming?: { readonly originalUrl?: string; readonly url?: string }
}

/** The part of a Hono context used here; other servers with web requests have the same. */
interface HonoContext {
  readonly req: { readonly raw: Request }
  readonly env?: unknown
  set(name: 'node', node: NodeCaller): void
}

export interface WebRequestVerifierOptions extends RequestVerifierOptions {
  /**
   * A web request has a normalised address: `/x/../a` as `/a`. With `@hono/node-server` the proof is compared with the
   * target as received. Other servers do not have it, so requests are refused as `target_unknown`, unless this option
   * states that a proof of the normalised address is enough.
   */
  readonly normalisedTarget?: 'accept'
}

/** Middleware for Hono: `app.use(honoNodeProof(options))`, then `c.get('node')`. */
export function honoNodeProof(
  options: WebRequestVerifierOptions,
): (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  const verifier = new RequestVerifier(options)
  return async (context, next) => {
    const { raw } = context.req
    const { incoming } = (context.env ?? {}) as WebServerParts
    const normalised = options.normalisedTarget === 'accept' ? targetOf(raw.url) : undefined
    const result = await verifier.check({
      method: raw.method,
      target: incoming?.originalUrl ?? incoming?.url ?? normalised,
      // Web headers join repeated fields with a comma. These fields have none, so joined ones are malformed; the others
      // are read as joined.
      field: (name) => {
        const value = raw.headers.get(name)
        return value === null ? [] : /^chancery-|^content-digest$/.test(name) ? value.split(', ') : [value]
      },
      // Read from a copy: the handler gets the body untouched.
      body: () => readCopy(raw, verifier.maxBodyBytes),
    })
    if ('refusal' in result) return send(result.refusal)
    context.set('node', result.node)
    await next()
    return undefined
  }
}

async function readCopy(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.body === null) return new Uint8Array()
  const reader = request.clone().body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    size += value.length
    if (size > maxBytes) {
      // Not waited for: it ends when the handler's half of the body ends, and there will be no handler.
      void reader?.cancel().catch(() => undefined)
      return undefined
    }
    chunks.push(value)
  }
  return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer())
}

function send({ status, body }: RequestVerifierRefusal): Response {
  return Response.json(body, { status })
}
