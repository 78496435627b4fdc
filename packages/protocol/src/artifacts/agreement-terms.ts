import type { ReadBy } from '../reading/read.ts'
import { integer, object } from '../reading/shape.ts'
import { label, requireOrder, timestamp } from '../reading/text.ts'
import { closedPart, listOf, yes } from '../reading/trust-form.ts'

export const agreementTerms = closedPart(
  {
    /** In the order they were given. */
    capabilities: yes(listOf(label, { min: 1 })),
    scope: yes(object, {}),
    valid_from: yes(timestamp),
    valid_until: yes(timestamp),
    /** Lowest freshness sequence a request must state. */
    freshness_commitment: yes(integer(0, Number.MAX_SAFE_INTEGER), 0),
  },
  (terms) => requireOrder(terms, 'valid_from', '<', 'valid_until'),
)

/** What is agreed, and for how long (protocol/trust-operations 3.1). */
export type AgreementTerms = ReadBy<typeof agreementTerms>
