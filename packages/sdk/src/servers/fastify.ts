import type { FastifyPluginAsync, FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import type { AllowedAnswer } from '../node/answer.ts'
import type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
import type { Caller } from '../request-proof/caller.ts'
import { answerAt, authenticateAtNode, authorizeAtNode, callerAt, readAgain } from '../nodejs/node-request.ts'

/** Hooks for Fastify: import it as `@chancery/sdk/fastify`. */

/**
 * A plugin: every route after `await app.register(authenticate, { authorizer })` is authenticated. The parser gets the
 * body after it was checked.
 */
export const authenticate: FastifyPluginAsync<{ readonly authorizer: Authorizer }> = Object.assign(
  async (...[app, { authorizer }]: Parameters<FastifyPluginAsync<{ readonly authorizer: Authorizer }>>) => {
    app.addHook('preParsing', (request, reply, payload, done) => {
      const work = async (): Promise<ReturnType<typeof readAgain> | undefined> => {
        const found = await authenticateAtNode(authorizer, request.raw, payload as AsyncIterable<Uint8Array>)
        if (found instanceof Response) {
          await send(reply, found)
          return undefined
        }
        return readAgain(found.body)
      }
      work().then(
        (checked) => {
          // Never called after a refusal. When a hook ends, Fastify continues, and checks only whether the response
          // was sent: while another plugin still works on it, or when the caller disconnected, the handler would run.
          if (checked !== undefined) done(null, checked)
        },
        (error: unknown) => done(error instanceof Error ? error : new Error('the proof could not be checked')),
      )
    })
  },
  // Without it the hook would be of the plugin's own routes only.
  { [Symbol.for('skip-override')]: true },
)

/** The hook of one route behind the plugin: `{ preHandler: authorize(authorizer, 'ledger.read') }`. */
export function authorize(
  authorizer: Authorizer<true>,
  requirement: Requirement<FastifyRequest>,
): preHandlerAsyncHookHandler {
  return async (request, reply) => {
    const found = await authorizeAtNode(authorizer, request.raw, { requirement, given: request })
    if (!(found instanceof Response)) return undefined
    await send(reply, found)
    return reply
  }
}

async function send(reply: FastifyReply, refusal: Response): Promise<void> {
  const text = await refusal.text()
  await reply.code(refusal.status).headers(Object.fromEntries(refusal.headers)).send(text)
}

/** Throws where the plugin is missing. */
export function callerOf(request: FastifyRequest): Caller {
  return callerAt(request.raw)
}

export function answerOf(request: FastifyRequest): AllowedAnswer {
  return answerAt(request.raw)
}

export type { AllowedAnswer } from '../node/answer.ts'
export type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
export type { Caller } from '../request-proof/caller.ts'
