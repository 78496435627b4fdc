import type { JsonObject } from '../canonical/json-value.ts'
import { integer, object } from '../reading/shape.ts'
import { label, requireOrder, timestamp } from '../reading/text.ts'
import { type Kind, closedPart, listOf, yes } from '../reading/trust-form.ts'

/** What is agreed, and for how long (protocol/trust-operations 3.1). */
export type AgreementTerms = {
  /** In the order they were given. */
  readonly capabilities: readonly string[]
  readonly scope: JsonObject
  readonly valid_from: string
  readonly valid_until: string
  /** Lowest freshness sequence a request must state. */
  readonly freshness_commitment: number
}

export const agreementTerms: Kind<AgreementTerms> = closedPart(
  {
    capabilities: yes(listOf(label, { min: 1 })),
    scope: yes(object, {}),
    valid_from: yes(timestamp),
    valid_until: yes(timestamp),
    freshness_commitment: yes(integer(0, Number.MAX_SAFE_INTEGER), 0),
  },
  (terms) => requireOrder(terms, 'valid_from', '<', 'valid_until'),
)
