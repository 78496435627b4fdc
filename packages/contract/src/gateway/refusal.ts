import type { JsonObject } from '@chancery/protocol'
import { GATEWAY_ERRORS } from './errors.ts'
import type { GatewayErrorName } from './errors.ts'

export interface GatewayRefusalOptions extends ErrorOptions {
  /** Whole seconds for `Retry-After`, where a better value than 60 is known. */
  readonly retryAfterSeconds?: number
  /** The work may have happened although this says no. */
  readonly isOutcomeUncertain?: boolean
  readonly headers?: { readonly [name: string]: string }
}

/** A known "no" of the gateway. Thrown anywhere, turned into the flat error body at the edge. */
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
