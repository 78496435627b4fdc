import type { Request, RequestHandler } from 'express'
import type { AllowedAnswer } from '../node/answer.ts'
import type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
import type { Caller } from '../request-proof/caller.ts'
import { answerAt, authenticateAtNode, authorizeAtNode, callerAt, sendRefusal } from '../nodejs/node-request.ts'

/** Middleware for Express: import it as `@chancery/sdk/express`. */

/**
 * `app.use(authenticate(authorizer))` before any body parser. The body is read here, since parsers keep no bytes to check
 * a digest on; it is left in `request.body`, parsed when it is JSON.
 */
export function authenticate(authorizer: Authorizer): RequestHandler {
  return (request, response, next) => {
    void (async () => {
      const found = await authenticateAtNode(authorizer, request)
      if (found instanceof Response) return sendRefusal(response, found)
      leaveBody(request, found.body)
      next()
    })().catch(next)
  }
}

/** The middleware of one route. It authenticates, too, where {@link authenticate} did not stand before. */
export function authorize(authorizer: Authorizer<true>, requirement: Requirement<Request>): RequestHandler {
  return (request, response, next) => {
    void (async () => {
      const found = await authorizeAtNode(authorizer, request, { requirement, given: request as Request })
      if (found instanceof Response) return sendRefusal(response, found)
      leaveBody(request, found.body)
      next()
    })().catch(next)
  }
}

/** No global types: a route without the middleware throws here. */
export function callerOf(request: Request): Caller {
  return callerAt(request)
}

export function answerOf(request: Request): AllowedAnswer {
  return answerAt(request)
}

/** With `_body` parsers read nothing more. */
function leaveBody(request: { readonly headers: Request['headers']; body?: unknown }, body: Buffer): void {
  if ('_body' in request) return
  Object.assign(request, { body: parsed(request.headers['content-type'] ?? '', body), _body: true })
}

function parsed(contentType: string, body: Buffer): unknown {
  if (body.length === 0) return undefined
  if (!/^application\/json\b/i.test(contentType)) return body
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    // Left as bytes: the handler decides what a body that is not JSON means.
    return body
  }
}

export type { AllowedAnswer } from '../node/answer.ts'
export type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
export type { Caller } from '../request-proof/caller.ts'
