export type Values = Readonly<Record<string, unknown>>

/** As Helm lays one file of values over another: tables are merged, null takes away, everything else is replaced. */
export function overlay(under: Values, over: Values): Values {
  const merged: Record<string, unknown> = { ...under }
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name]
    if (value === null) delete merged[name]
    else merged[name] = isTable(below) && isTable(value) ? overlay(below, value) : value
  }
  return merged
}

export function isTable(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
