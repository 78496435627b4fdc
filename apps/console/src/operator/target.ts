/** A path in both forms: as the authority reads and the operator signs it, and as it is sent. */
export interface Target {
  readonly path: string
  readonly query: Readonly<Record<string, readonly string[]>>
  readonly encoded: string
}

/** Builds a path: at`/admin/partners/${id}`. Values are encoded for sending and stay plain for signing. */
export function at(parts: TemplateStringsArray, ...values: readonly string[]): Target {
  let [path, encoded] = [parts[0] ?? '', parts[0] ?? '']
  for (const [i, value] of values.entries()) {
    // URL parsers resolve dot segments, so the request would reach another route.
    if (value === '' || value === '.' || value === '..') throw new Error('A part of the address is empty.')
    path += value + (parts[i + 1] ?? '')
    encoded += encodeURIComponent(value) + (parts[i + 1] ?? '')
  }
  return { path, query: {}, encoded }
}

export type Query = Readonly<Record<string, string | number | undefined>>

export function withParameters(target: Target, query: Query): Target {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as const],
  )
  const search = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
  return {
    path: target.path,
    query: Object.fromEntries(pairs.map(([name, value]) => [name, [value]])),
    encoded: search === '' ? target.encoded : `${target.encoded}?${search}`,
  }
}
