import type { JsonObject } from '@chancery/protocol'
import { type ErrorCode, ERRORS } from './errors.ts'

/** `message` replaces the usual text where the protocol fixes another one for the same code: 'Unknown admin key'. */
export type RefusalOptions = ErrorOptions & { readonly message?: string }

/** A known "no". The HTTP edge looks up the status; nothing below the edge knows one. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly details: JsonObject

  /** `details` holds field names and public identifiers only, never input values. */
  constructor(code: ErrorCode, details: JsonObject = {}, options?: RefusalOptions) {
    super(options?.message ?? ERRORS[code].message, options)
    this.code = code
    this.details = details
  }
}
