import type { AllowedAnswer } from '../node/answer.ts'
import { type Authorizer, type Requirement, arrivedOf, coreOf } from '../request-proof/authorizer.ts'
import type { Caller } from '../request-proof/caller.ts'
import { optionsOf, withBody } from './requirement.ts'

/** Servers with fetch handlers: Cloudflare Workers, Deno, Bun, Next.js. Import it as `@chancery/sdk/web`. */

export interface Authenticated {
  readonly caller: Caller
}

export interface Authorized extends Authenticated {
  readonly answer: AllowedAnswer
}

type Handler<Context, Rest extends readonly unknown[]> = (
  request: Request,
  context: Context,
  ...rest: Rest
) => Response | Promise<Response>

/** The request that the handler gets has the signed body. */
export function authenticate<Rest extends readonly unknown[]>(
  authorizer: Authorizer,
  handler: Handler<Authenticated, Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => {
    const found = await coreOf(authorizer).authenticate(arrivedOf(request))
    if (!found.ok) return found.response
    return handler(withBody(request, found.body), { caller: found.caller }, ...rest)
  }
}

export function authorize<Rest extends readonly unknown[]>(
  authorizer: Authorizer<true>,
  requirement: Requirement<Request>,
  handler: Handler<Authorized, Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => {
    const core = coreOf(authorizer)
    const found = await core.authenticate(arrivedOf(request))
    if (!found.ok) return found.response
    const { caller } = found
    const signed = withBody(request, found.body)
    const { capability, options } = optionsOf(requirement, signed)
    const answer = await core.decide(caller, capability, options)
    return 'refusal' in answer ? answer.response : handler(signed, { caller, answer }, ...rest)
  }
}

export type { AllowedAnswer } from '../node/answer.ts'
export type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
export type { Caller } from '../request-proof/caller.ts'
