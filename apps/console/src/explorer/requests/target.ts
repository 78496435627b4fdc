import type { Operation } from './catalogue.ts'

export type Values = Readonly<Record<string, string>>

/** Returns path and query at the gateway. Path parameters of the authority are sent in the query. */
export function gatewayTarget(operation: Operation, network: string | undefined, values: Values): string {
  const query = new URLSearchParams()
  for (const name of [...(operation.isOwn ? [] : operation.parameters), ...operation.query]) {
    const value = values[name] ?? ''
    if (value !== '') query.append(name, value)
  }
  const path = operation.isOwn
    ? operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
    : `/v1/networks/${encodeURIComponent(network ?? '')}/services/${operation.id}`
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** Returns the decoded path at the authority, which an operator's signature covers (protocol/gateway 2.8). */
export function authorityPath({ path, parameters }: Operation, values: Values): string {
  return parameters.reduce((text, name) => text.replace(`{${name}}`, () => values[name] ?? ''), path)
}

/** Returns the query that the gateway forwards, one value per name. */
export function authorityQuery({ query }: Operation, values: Values): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    query.filter((name) => (values[name] ?? '') !== '').map((name) => [name, [values[name] ?? '']]),
  )
}

export function findMissing({ parameters }: Operation, values: Values): string | undefined {
  return parameters.find((name) => (values[name] ?? '') === '')
}
