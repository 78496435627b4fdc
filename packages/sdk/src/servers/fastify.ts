import type { FastifyRequest } from 'fastify'
import type { NodeCaller } from '../request-proof/verify.ts'

/**
 * Hook for Fastify with the types of `request.node`: import it as `@chancery/sdk/fastify`. The types apply to every
 * request of the program, so add the hook before all routes.
 */
export { fastifyNodeProof } from '../nodejs/node-proof.ts'
export type { RequestVerifierOptions } from '../request-proof/request-verifier.ts'
export type { NodeCaller } from '../request-proof/verify.ts'

/** A request after the hook. */
export type SignedFastifyRequest = FastifyRequest

declare module 'fastify' {
  interface FastifyRequest {
    /** The node that signed the request. */
    readonly node: NodeCaller
  }
}
