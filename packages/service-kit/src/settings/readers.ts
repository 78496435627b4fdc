import { isIP } from 'node:net'
import { JsonError, type JsonValue, isJsonObject, readJson } from '@chancery/protocol'

/** Reads a value from text, or throws a {@link SettingError} that describes a valid value. */
export type Reader<T> = (text: string) => T

/** The problem with a value. It never quotes the value, because the value may be a secret. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

// No setting contains a carriage return or an escape sequence, and they would damage the log.
const CONTROL = /\p{Cc}/u
// One spelling per number: no plus sign, no leading zero, no exponent. Fifteen digits are exact in a double.
const INTEGER = /^(?:0|-?[1-9][0-9]{0,14})$/

/** Reads any text that is not empty. */
export const text: Reader<string> = (value) => {
  if (value === '') throw new SettingError('must not be empty')
  if (CONTROL.test(value)) throw new SettingError('must not contain control characters')
  return value
}

/** Reads a text of this form; `rule` describes it. */
export function matching(form: RegExp, rule: string): Reader<string> {
  return (value) => {
    if (!form.test(value)) throw new SettingError(rule)
    return value
  }
}

export interface IntegerBounds {
  readonly min?: number
  readonly max?: number
}

export function integer(bounds: IntegerBounds = {}): Reader<number> {
  const { min, max } = bounds
  const range = [min === undefined ? '' : ` from ${min}`, max === undefined ? '' : ` up to ${max}`].join('')
  return (value) => {
    const number = INTEGER.test(value) ? Number(value) : undefined
    if (number === undefined || (min !== undefined && number < min) || (max !== undefined && number > max)) {
      throw new SettingError(`must be a whole number${range}`)
    }
    return number
  }
}

/** Exactly one of these values. */
export function oneOf<const Words extends readonly string[]>(...words: Words): Reader<Words[number]> {
  return (value) => {
    const found = words.find((word) => word === value)
    if (found === undefined) throw new SettingError(`must be one of: ${words.join(', ')}`)
    return found
  }
}

/** Reads `on` or `off` and nothing else: "true", "1" and "yes" mean different things to different people. */
export const onOff: Reader<boolean> = (value) => {
  if (value === 'on') return true
  if (value === 'off') return false
  throw new SettingError('must be on or off')
}

/** Reads a socket address: an IP address with a port, an IPv6 address in brackets. */
export const socketAddress: Reader<{ readonly host: string; readonly port: number }> = (value) => {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(value)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3])
  if (isIP(host) === 0 || port > 65_535) throw new SettingError('must be address:port, for example 127.0.0.1:8080')
  return { host, port }
}

/**
 * A JSON object whose members are all texts. A repeated name is refused: the last one would silently replace the first.
 * Returns a Map, so that `__proto__` is an ordinary name.
 */
export const jsonTextMap: Reader<ReadonlyMap<string, string>> = (value) => {
  const object = parse(value)
  if (!isJsonObject(object)) throw new SettingError('must be a JSON object')
  const entries = new Map<string, string>()
  for (const [position, [name, entry]] of Object.entries(object).entries()) {
    if (typeof entry !== 'string')
      throw new SettingError(`must contain texts only (entry ${position + 1} is something else)`)
    entries.set(name, entry)
  }
  return entries
}

function parse(value: string): JsonValue {
  try {
    return readJson(value)
  } catch (thrown) {
    if (thrown instanceof JsonError) throw new SettingError(`must be a JSON object: ${thrown.message}`)
    throw thrown
  }
}
