/** The filters of the list of nodes, from the address. */
export const nodeQuery = (query: URLSearchParams): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    ['state', 'role', 'q', 'has_agent', 'joined_since'].map((name) => [name, query.get(name) ?? undefined]),
  )
