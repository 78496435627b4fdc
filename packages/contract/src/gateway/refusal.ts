import type { JsonObject } from '@chancery/protocol'
import { GATEWAY_ERRORS, type GatewayErrorName } from './errors.ts'

export interface GatewayRefusalOptions extends ErrorOptions {
  /** Whole seconds for `Retry-After`, where a better value than 60 is known. */
  readonly retryAfterSeconds?: number
  /** The request may have been processed although it is refused. */
  readonly isOutcomeUncertain?: boolean
  readonly headers?: { readonly [name: string]: string }
}

/** A refusal of the gateway. Thrown anywhere; the edge turns it into the flat error body. */
export class GatewayRefusal extends Error {
  override readonly name = 'GatewayRefusal'
  readonly error: GatewayErrorName
  readonly details: JsonObject | undefined
  readonly retryAfterSeconds: number | undefined
  readonly isOutcomeUncertain: boolean
  readonly headers: { readonly [name: string]: string }

  /** `details` holds member names and booleans only, never input values. */
  constructor(error: GatewayErrorName, details?: JsonObject, options?: GatewayRefusalOptions) {
    super(GATEWAY_ERRORS[error].message, options)
    this.error = error
    this.details = details
    this.retryAfterSeconds = options?.retryAfterSeconds
    this.isOutcomeUncertain = options?.isOutcomeUncertain === true
    this.headers = options?.headers ?? {}
  }
}
