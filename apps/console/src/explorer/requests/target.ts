import type { Operation } from './catalogue.ts'

export type Values = Readonly<Record<string, string>>

/** Path and query at the gateway. Parameters of the authority's path travel in the query, each once. */
export function gatewayTarget(operation: Operation, network: string | undefined, values: Values): string {
  const query = new URLSearchParams()
  for (const name of [...operation.parameters, ...operation.query]) {
    const value = values[name] ?? ''
    if (value !== '') query.append(name, value)
  }
  const path = operation.isOwn
    ? operation.path
    : `/v1/networks/${encodeURIComponent(network ?? '')}/services/${operation.id}`
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** The decoded path at the authority: what an operator's signature covers (protocol/gateway 2.8). */
export function authorityPath({ path, parameters }: Operation, values: Values): string {
  return parameters.reduce((text, name) => text.replace(`{${name}}`, () => values[name] ?? ''), path)
}

/** The query the gateway forwards, each name with its one value. */
export function authorityQuery({ query }: Operation, values: Values): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    query.filter((name) => (values[name] ?? '') !== '').map((name) => [name, [values[name] ?? '']]),
  )
}

export function findMissing({ parameters }: Operation, values: Values): string | undefined {
  return parameters.find((name) => (values[name] ?? '') === '')
}
