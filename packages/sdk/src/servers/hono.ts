import type { MiddlewareHandler } from 'hono'
import { type WebRequestVerifierOptions, honoNodeProof as structural } from '../request-proof/hono.ts'
import type { NodeCaller } from '../request-proof/verify.ts'

export type { WebRequestVerifierOptions } from '../request-proof/hono.ts'
export type { RequestVerifierOptions } from '../request-proof/request-verifier.ts'
export type { NodeCaller } from '../request-proof/verify.ts'

/** The variables of a Hono app after the middleware: `new Hono<NodeVariables>()`. */
export interface NodeVariables {
  Variables: { node: NodeCaller }
}

/**
 * Middleware for Hono with the type of `c.get('node')`: import it as `@chancery/sdk/hono`. Routes that are chained
 * after `.use(honoNodeProof(options))` have the type by themselves.
 */
export function honoNodeProof(options: WebRequestVerifierOptions): MiddlewareHandler<NodeVariables> {
  return structural(options)
}
