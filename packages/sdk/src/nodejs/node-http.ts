import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AllowedAnswer } from '../node/answer.ts'
import type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
import type { Caller } from '../request-proof/caller.ts'
import { CallerGoneError, authenticateAtNode, authorizeAtNode, sendRefusal } from './node-request.ts'

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** For plain node:http: `createServer(authenticate(authorizer, handler))`. A handler that throws is answered with 500. */
export function authenticate(
  authorizer: Authorizer,
  handler: (
    request: IncomingMessage,
    response: ServerResponse,
    context: { readonly caller: Caller; readonly body: Buffer },
  ) => unknown,
): Serve {
  return serve(async (request, response) => {
    const found = await authenticateAtNode(authorizer, request)
    if (found instanceof Response) return sendRefusal(response, found)
    await handler(request, response, { caller: found.caller, body: found.body })
  })
}

/** As {@link authenticate}, and with a decision on each request. */
export function authorize(
  authorizer: Authorizer<true>,
  requirement: Requirement<IncomingMessage>,
  handler: (
    request: IncomingMessage,
    response: ServerResponse,
    context: { readonly caller: Caller; readonly answer: AllowedAnswer; readonly body: Buffer },
  ) => unknown,
): Serve {
  return serve(async (request, response) => {
    const found = await authorizeAtNode(authorizer, request, { requirement, given: request })
    if (found instanceof Response) return sendRefusal(response, found)
    await handler(request, response, { caller: found.caller, answer: found.answer, body: found.body })
  })
}

function serve(work: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Serve {
  return (request, response) => {
    work(request, response).catch((error: unknown) => {
      // The caller has disconnected.
      if (error instanceof CallerGoneError) return response.destroy()
      fail(response)
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
      process.emitWarning('A request handler failed', { type: 'ChanceryWarning', detail })
      return undefined
    })
  }
}

const FAILED = '{"error":{"code":"internal_server_error","message":"The service failed.","details":{}}}'

/** A response that has begun cannot be replaced, so the connection is closed: the caller detects that it is incomplete. */
function fail(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'Content-Type': 'application/json' }).end(FAILED)
}
