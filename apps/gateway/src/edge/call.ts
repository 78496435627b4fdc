import type { GatewayRoute } from '@chancery/contract'
import type { HttpResponse, RequestHeaders, MaybePromise } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'

/** One request as a handler sees it. */
export interface GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  /** The segments its path names, as sent: nothing has been decoded. */
  readonly params: Readonly<Record<string, string>>
  /** What follows the question mark, as sent. */
  readonly query: string
  /** The policy and lists this request began with; it ends with the same ones. */
  readonly trust: TrustSnapshot | undefined
  /** Filled by handlers with what the audit may know. */
  readonly context: AuditContext
  /** The whole body, bounded while it is read. */
  readBytes(): MaybePromise<Uint8Array>
  /** The same, for JSON only: refuses other content types. */
  readBody(): MaybePromise<Uint8Array>
  /** What is left of the time this request may take. */
  remainingMs(): number
  /** Refuses once the time is over; to be asked before anything that others can see. */
  checkDeadline(): void
  /** Sets whether a request was sent whose effect is not confirmed. A refusal at the deadline then reports it. */
  setOutcomeUncertain(isUncertain: boolean): void
}

/** The same for routes that need a credential. */
export interface ClientCall extends GatewayCall {
  readonly client: ClientPolicy
}

export type PublicHandler = (call: GatewayCall) => MaybePromise<HttpResponse>
export type ClientHandler = (call: ClientCall) => MaybePromise<HttpResponse>

/** A route of the contract's table and the function that answers it: `open` for anyone, `client` for a credential. */
export type GatewayBinding =
  | { readonly route: GatewayRoute; readonly open: PublicHandler }
  | { readonly route: GatewayRoute; readonly client: ClientHandler }
