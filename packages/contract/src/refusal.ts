import type { JsonObject } from '@chancery/protocol'
import { type ErrorCode, ERRORS } from './errors.ts'

export type RefusalOptions = ErrorOptions & {
  /** Replaces the usual text where the protocol fixes another one for the same code: 'Unknown admin key'. */
  readonly message?: string
  /** Whole seconds for `Retry-After`, where a better value than the usual one is known. */
  readonly retryAfterSeconds?: number
}

type Unavailable = 'service_unavailable' | 'evidence_store_unavailable'

/** Codes that need no additional reason. */
export type RefusalCode = Exclude<ErrorCode, Unavailable>

/** A refusal with a known code. Only the HTTP edge maps the code to a status. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly details: JsonObject
  readonly retryAfterSeconds: number | undefined

  /** `details` holds field names and public identifiers only, never input values. Every `unavailable` refusal has a reason. */
  constructor(code: Unavailable, details: JsonObject & { readonly reason: string }, options?: RefusalOptions)
  constructor(code: RefusalCode, details?: JsonObject, options?: RefusalOptions)
  constructor(code: ErrorCode, details: JsonObject = {}, options?: RefusalOptions) {
    super(options?.message ?? ERRORS[code].message, options)
    this.code = code
    this.details = details
    this.retryAfterSeconds = options?.retryAfterSeconds
  }
}
