import { Refusal, type Route, queryNames } from '@chancery/contract'
import { type HandlerResult, HttpResponse, type Query } from '@chancery/service-kit'

const MAX_NAMED = 64
const MAX_LENGTH = 100

/** The query names that a route takes, or undefined when it ignores others. */
export function parametersOf(route: Route): readonly string[] | undefined {
  const { method, errors } = route
  return method === 'GET' && errors?.includes('unexpected_field') === true ? queryNames(route) : undefined
}

/** The names of a query that a route does not take, sorted, as a response may name them. */
export function unknownParameters(query: Query, known: readonly string[]): readonly string[] {
  const unknown = Object.keys(query.toObject()).filter((name) => !known.includes(name))
  return unknown
    .toSorted()
    .slice(0, MAX_NAMED)
    .map((name) => name.slice(0, MAX_LENGTH))
}

/** Names the parameters that a public list did not use, because the caller is an operator (protocol/core 3). */
export function namingIgnored(result: HandlerResult, unknown: readonly string[]): HandlerResult {
  if (!(result instanceof HttpResponse)) return result
  const { body, contentType, status, headers } = result
  const ignored = unknown.map((name) => encodeURIComponent(name.toWellFormed())).join(', ')
  return new HttpResponse(body, contentType, status, { ...headers, 'Chancery-Ignored-Parameters': ignored })
}

/** A mistyped filter must not return everything (protocol/trust-operations 6.8). */
export function refuseParameters(unknown: readonly string[]): never {
  throw new Refusal(
    'unexpected_field',
    { fields: unknown },
    { message: 'The query has parameters this route does not take. See details.fields.' },
  )
}
