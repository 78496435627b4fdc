import { stringify } from 'yaml'
import { type Values, isTable } from '../overlay.ts'

/** The functions of text/template, sprig and Helm that the chart uses. Another one is an error, not a guess. */

export type Value = unknown
export type TemplateFunction = (...args: readonly Value[]) => Value

export const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  and: (...args) => (args.every((value) => isTrue(value)) ? args.at(-1) : args.find((value) => !isTrue(value))),
  or: (...args) => args.find((value) => isTrue(value)) ?? args.at(-1),
  not: (value) => !isTrue(value),
  eq: (first, ...others) => others.includes(first),
  ternary: (yes, no, condition) => (condition === true ? yes : no),
  dict: (...pairs) => toDict(pairs),
  merge: (target, ...sources) => Object.assign({}, ...sources.toReversed().map(table), table(target)) as Values,
  hasKey: (values, name) => Object.hasOwn(table(values), text(name)),
  printf: (format, ...args) => print(text(format), args),
  quote: (value) => JSON.stringify(toText(value)),
  trunc: (length, value) => text(value).slice(0, Number(length)),
  trim: (value) => text(value).trim(),
  substr: (from, to, value) => text(value).slice(Number(from), Number(to)),
  nindent: (spaces, value) => `\n${text(value).replaceAll(/^/gm, ' '.repeat(Number(spaces)))}`,
  // The rules of YAML 1.1, by which «yes» needs quotes: Helm writes by them.
  toYaml: (value) => stringify(value, { version: '1.1', sortMapEntries: true, lineWidth: 0 }).trimEnd(),
  '.Files.Get': (files, name) => table(files)[text(name)],
  required: (message, value) => {
    if (value === undefined || value === null || value === '') throw new Error(text(message))
    return value
  },
}

/** Empty values are false. */
export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isTable(value)) return Object.keys(value).length > 0
  return value !== undefined && value !== null && value !== false && value !== 0 && value !== ''
}

/** As an action writes a value. Helm writes nothing for a missing one. */
export function toText(value: Value): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  // Numbers of values are floating-point numbers in Go: larger ones get an exponent.
  if (typeof value === 'number' && Math.abs(value) < 1e6) return String(value)
  throw new Error(`${JSON.stringify(value)} cannot be written`)
}

function text(value: Value): string {
  if (typeof value !== 'string') throw new Error(`${JSON.stringify(value)} is not a text`)
  return value
}

function table(value: Value): Values {
  if (!isTable(value)) throw new Error(`${JSON.stringify(value)} is not a table`)
  return value
}

function toDict(pairs: readonly Value[]): Values {
  const made: Record<string, Value> = {}
  for (let at = 0; at < pairs.length; at += 2) made[text(pairs[at])] = pairs[at + 1]
  return made
}

function print(format: string, args: readonly Value[]): string {
  const rest = [...args]
  const printed = format.replaceAll(/%(.)/g, (_all, verb: string) => {
    if (verb !== 's' || rest.length === 0) throw new Error(`printf ${JSON.stringify(format)} is not supported`)
    return text(rest.shift())
  })
  if (rest.length > 0) throw new Error(`printf ${JSON.stringify(format)} has more arguments`)
  return printed
}
