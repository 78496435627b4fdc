import type { Context, MiddlewareHandler } from 'hono'
import type { AllowedAnswer } from '../node/answer.ts'
import {
  type Authentication,
  type Authorizer,
  type Requirement,
  arrivedOf,
  coreOf,
} from '../request-proof/authorizer.ts'
import type { Caller } from '../request-proof/caller.ts'
import { optionsOf, withBody } from './requirement.ts'

/** Middleware for Hono: import it as `@chancery/sdk/hono`. */

/** What a server with web requests knows besides the request: that of Hono for Node.js has the request as received. */
interface ServerParts {
  readonly incoming?: { readonly originalUrl?: string; readonly url?: string }
}

const FOUND = new WeakMap<Context, { readonly authorizer: Authorizer; readonly found: Authentication }>()

async function authenticateOnce(authorizer: Authorizer, context: Context): Promise<Authentication> {
  const known = FOUND.get(context)
  if (known?.authorizer === authorizer) return known.found
  const { incoming } = (context.env ?? {}) as ServerParts
  const { raw } = context.req
  // With @hono/node-server the proof is compared with the target as received. Other servers have only the normalised one.
  const found = await coreOf(authorizer).authenticate(arrivedOf(raw, incoming?.originalUrl ?? incoming?.url))
  if (found.ok) {
    context.req.raw = withBody(raw, found.body)
    FOUND.set(context, { authorizer, found })
  }
  return found
}

/** `c.get('caller')` in the handlers after it. */
export function authenticate(authorizer: Authorizer): MiddlewareHandler<{ Variables: { caller: Caller } }> {
  return async (context, next) => {
    const found = await authenticateOnce(authorizer, context)
    if (!found.ok) return found.response
    context.set('caller', found.caller)
    await next()
    return undefined
  }
}

/** `c.get('caller')` and `c.get('answer')` in the handlers after it. It authenticates, too. */
export function authorize(
  authorizer: Authorizer<true>,
  requirement: Requirement<Context>,
): MiddlewareHandler<{ Variables: { caller: Caller; answer: AllowedAnswer } }> {
  return async (context, next) => {
    const plain = context as unknown as Context
    const found = await authenticateOnce(authorizer, plain)
    if (!found.ok) return found.response
    const { capability, options } = optionsOf(requirement, plain)
    const answer = await coreOf(authorizer).decide(found.caller, capability, options)
    if ('refusal' in answer) return answer.response
    context.set('caller', found.caller)
    context.set('answer', answer)
    await next()
    return undefined
  }
}

export type { AllowedAnswer } from '../node/answer.ts'
export type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
export type { Caller } from '../request-proof/caller.ts'
