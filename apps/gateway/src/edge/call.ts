import type { GatewayRoute } from '@chancery/contract'
import type { HttpResponse, RequestHeaders, MaybePromise, TraceParent } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'

/** One request for a handler. */
export interface GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  /** The trace of the caller, when it names exactly one in the right form. */
  readonly traceParent: TraceParent | undefined
  /** Path parameters as sent, not decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query as sent, without the question mark. */
  readonly query: string
  /** The policy and lists at the start of this request. A reload does not change them. */
  readonly trust: TrustSnapshot | undefined
  /** Handlers add the fields that the audit stores. */
  readonly context: AuditContext
  /** Reads the whole body, up to the size limit. */
  readBytes(): MaybePromise<Uint8Array>
  /** Reads the whole body and refuses content types other than JSON. */
  readBody(): MaybePromise<Uint8Array>
  /** Time left until the deadline. */
  remainingMs(): number
  /** Refuses after the deadline. Call it before every external effect. */
  checkDeadline(): void
  /** Sets whether a request was sent whose effect is not confirmed. A refusal at the deadline then reports it. */
  setOutcomeUncertain(isUncertain: boolean): void
}

/** A request of an authenticated client. */
export interface ClientCall extends GatewayCall {
  readonly client: ClientPolicy
}

export type PublicHandler = (call: GatewayCall) => MaybePromise<HttpResponse>
export type ClientHandler = (call: ClientCall) => MaybePromise<HttpResponse>

/** A route of the contract's table and its handler: `open` for any caller, `client` for authenticated clients. */
export type GatewayBinding =
  | { readonly route: GatewayRoute; readonly open: PublicHandler }
  | { readonly route: GatewayRoute; readonly client: ClientHandler }
