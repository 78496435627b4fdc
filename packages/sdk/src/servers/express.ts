import type { NodeCaller } from '../request-proof/verify.ts'

/**
 * Middleware for Express with the types of `request.node`: import it as `@chancery/sdk/express`. The types apply to
 * every request of the program, so call `app.use(expressNodeProof(options))` before all routes.
 */
export { expressNodeProof } from '../nodejs/node-proof.ts'
export type { RequestVerifierOptions } from '../request-proof/request-verifier.ts'
export type { NodeCaller } from '../request-proof/verify.ts'

declare global {
  // The types of Express can be extended in this namespace only.
  namespace Express {
    interface Request {
      /** The node that signed the request. */
      readonly node: NodeCaller
      /** The signed bytes of the body. */
      readonly rawBody: Buffer
    }
  }
}
