import type { Route } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { MaybePromise } from '../async/maybe-promise.ts'
import type { HttpResponse, CachedDocument } from './response.ts'
import type { Call } from './call.ts'
import type { StreamResponse } from './streams.ts'

export type HandlerResult = JsonObject | HttpResponse | CachedDocument | StreamResponse

/** A route of the table and its handler. */
export interface Binding {
  readonly route: Route
  readonly handle: (call: Call) => MaybePromise<HandlerResult>
  /** While it gives a promise, calls wait for its end without using a slot of the process. */
  readonly held?: () => Promise<void> | undefined
}

/** The checks between the HTTP edge and the handlers. Each refuses by throwing. */
export interface Guard {
  /** Counts the call. Runs before the body is parsed as JSON, and before a large body is received. */
  limit(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Runs before a large body is received. Refuses a call that no body could authorize. */
  screen(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Authenticates the caller and returns the call for the handler. */
  authorize(call: Call, route: Route): MaybePromise<Call>
}
