import type { GatewayRoute } from '@chancery/contract'
import type { Answer, RequestHeaders, Soon } from '@chancery/service-kit'
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
  readBytes(): Soon<Uint8Array>
  /** The same, for JSON only: refuses other content types. */
  readBody(): Soon<Uint8Array>
  /** What is left of the time this request may take. */
  remainingMs(): number
  /** Refuses once the time is over; to be asked before anything that others can see. */
  checkDeadline(): void
  /** Whether something is sent whose effect nobody has confirmed: a refusal at the deadline says so. */
  setOutcomeUncertain(isUncertain: boolean): void
}

/** The same for routes that need a credential. */
export interface ClientCall extends GatewayCall {
  readonly client: ClientPolicy
}

export type PublicHandler<Context> = (call: GatewayCall, context: Context) => Soon<Answer>
export type ClientHandler<Context> = (call: ClientCall, context: Context) => Soon<Answer>

/** A route of the contract's table and the function that answers it: `open` for anyone, `client` for a credential. */
export type GatewayBinding<Context> =
  | { readonly route: GatewayRoute; readonly open: PublicHandler<Context> }
  | { readonly route: GatewayRoute; readonly client: ClientHandler<Context> }
