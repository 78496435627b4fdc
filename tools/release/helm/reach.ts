import { type Values, isTable, overlay } from './overlay.ts'

/** Everything the chart can do, and the least of it: a value may matter in one of them only. */
export type Renderings = Readonly<Record<'all' | 'least', Values>>

/** Each value of the chart that can be given, as its way from the top. */
export function leavesOf(values: Values, way: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const here = [...way, name]
    return isTable(value) && Object.keys(value).length > 0 ? leavesOf(value, here) : [here]
  })
}

/** Ways of values that change nothing of what is rendered, whatever else is given: they reach nothing. */
export function unreached(defaults: Values, bases: Renderings, render: (values: Values) => string): readonly string[] {
  const before = Object.values(bases).map((base) => [base, render(base)] as const)
  return leavesOf(defaults)
    .filter((way) => before.every(([base, text]) => render(overlay(base, at(way, other(valueAt(base, way))))) === text))
    .map((way) => way.join('.'))
}

function valueAt(values: Values, way: readonly string[]): unknown {
  return way.reduce<unknown>((table, name) => (isTable(table) ? table[name] : undefined), values)
}

function at(way: readonly string[], value: unknown): Values {
  return way.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values
}

/** Another value of the same kind. */
function other(value: unknown): unknown {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  if (typeof value === 'string') return `${value}1`
  if (Array.isArray(value)) return [...(value as readonly unknown[]), otherItem(value[0])]
  return { more: 'text' }
}

function otherItem(item: unknown): unknown {
  if (isTable(item)) return { ...item, name: 'more' }
  return typeof item === 'string' ? 'more' : 7
}
