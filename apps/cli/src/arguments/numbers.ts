import { usageError } from '../errors/failure.ts'
import type { Options } from './options.ts'

/** Returns the whole number of a flag, or undefined. */
export function wholeNumber(options: Options, name: string, min: number, max: number): number | undefined {
  const text = options.text(name)
  return text === undefined ? undefined : readWhole(`--${name}`, text, min, max)
}

/** Returns the whole number of a flag, else the default that the help shows. */
export function wholeNumberOrDefault(options: Options, name: string, min: number, max: number): number {
  return readWhole(`--${name}`, options.textOrDefault(name), min, max)
}

function readWhole(flag: string, text: string, min: number, max: number): number {
  const value = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  const range = max === Number.MAX_SAFE_INTEGER ? `, at least ${min}` : ` from ${min} to ${max}`
  throw usageError(`${flag} must be a whole number${range}.`)
}
