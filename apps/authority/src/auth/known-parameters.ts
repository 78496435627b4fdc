import { Refusal, type Route } from '@chancery/contract'
import type { Query } from '@chancery/service-kit'

const MAX_NAMED = 64
const MAX_LENGTH = 100

/** The query names that a route takes, or undefined when it ignores others. */
export function parametersOf({ method, errors, query, gateway }: Route): readonly string[] | undefined {
  return method === 'GET' && errors?.includes('unexpected_field') === true ? (query ?? gateway?.query ?? []) : undefined
}

/** A mistyped filter must not return everything (protocol/trust-operations 6.8). */
export function refuseUnknownParameters(query: Query, known: readonly string[]): void {
  const unknown = Object.keys(query.toObject()).filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  const fields = unknown.toSorted().slice(0, MAX_NAMED)
  throw new Refusal(
    'unexpected_field',
    { fields: fields.map((name) => name.slice(0, MAX_LENGTH)) },
    { message: 'The query has parameters this route does not take. See details.fields.' },
  )
}
