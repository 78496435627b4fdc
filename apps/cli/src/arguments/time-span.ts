import { usageError } from '../errors/failure.ts'
import type { Options } from './options.ts'

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const

interface Unit {
  readonly unit: keyof typeof SECONDS
  readonly min: number
  readonly max: number
}

/** A time span such as 30s, 12h or 7d, in whole units; undefined when the option is not given. */
export function timeSpan(options: Options, name: string, range: Unit): number | undefined {
  const text = options.text(name)
  return text === undefined ? undefined : readSpan(`--${name}`, text, range)
}

/** As {@link timeSpan}, with the default that the help shows. */
export function timeSpanOrDefault(options: Options, name: string, range: Unit): number {
  return readSpan(`--${name}`, options.textOrDefault(name), range)
}

function readSpan(flag: string, text: string, { unit, min, max }: Unit): number {
  const [, digits = '', letter = ''] = /^(0|[1-9][0-9]{0,11})([smhd])$/.exec(text) ?? []
  const count = (Number(digits) * SECONDS[letter as keyof typeof SECONDS]) / SECONDS[unit]
  if (Number.isInteger(count) && count >= min && count <= max) return count
  const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min}${unit}` : `from ${min}${unit} to ${max}${unit}`
  throw usageError(`${flag} must be a time span ${range}.`, 'For example 30s, 12h or 7d.')
}
