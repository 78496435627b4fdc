import type { Route } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { MaybePromise } from '../async/maybe-promise.ts'
import type { HttpResponse, CachedDocument } from './answer.ts'
import type { Call } from './call.ts'

export type HandlerResult = JsonObject | HttpResponse | CachedDocument

/** A route of the table and the function that answers it. `Context` is whatever the service's handlers need. */
export interface Binding<Context> {
  readonly route: Route
  readonly handle: (call: Call, context: Context) => MaybePromise<HandlerResult>
}

/** The checks between the HTTP edge and the handlers. Each refuses by throwing. */
export interface Guard {
  /** Counts the call; runs before the body is read as JSON, and before a large body is taken in. */
  limit(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Before a large body is taken in: refuses a call that cannot be authorized whatever its body says. */
  screen(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Decides who calls; gives the call its handler expects. */
  authorize(call: Call, route: Route): MaybePromise<Call>
}
