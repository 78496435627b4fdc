import { isKeyId, isTrustDomain, readTrustedPublicKey } from '@chancery/protocol'
import { type Reader, SettingError, integer } from '@chancery/service-kit'

export const keyIdText: Reader<string> = (value) => {
  if (!isKeyId(value)) throw new SettingError('must be 1 to 128 characters of A-Z a-z 0-9 . _ : @ / + = -')
  return value
}

export const trustDomain: Reader<string> = (value) => {
  if (!isTrustDomain(value)) throw new SettingError('must be a host name in lower case, such as agency.example.org')
  return value
}

/** Reads days, or 0 for permanently. With fewer days than `least`, rows would be deleted that are still read. */
export function storedDays(least: number): Reader<number> {
  const days = integer({ min: 0, max: 36_500 })
  return (value) => {
    const number = days(value)
    if (number !== 0 && number < least) throw new SettingError(`must be 0 or a whole number from ${least}`)
    return number
  }
}

/** Reads seconds, or 0 for a check that is off. */
export function secondsOrOff(least: number, most: number): Reader<number> {
  const number = integer({ min: 0, max: most })
  return (value) => {
    const read = number(value)
    if (read !== 0 && read < least) throw new SettingError(`must be 0 or a whole number from ${least} to ${most}`)
    return read
  }
}

/** Reads an origin: scheme, host and optional port, nothing else. */
export function originUrl(...schemes: readonly ('http' | 'https')[]): Reader<string> {
  const article = schemes.includes('http') ? 'an http(s)' : 'an https'
  return (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined
    const rest = url && `${url.pathname}${url.search}${url.hash}${url.username}${url.password}`
    if (url === undefined || rest !== '/' || !schemes.some((scheme) => url.protocol === `${scheme}:`))
      throw new SettingError(`must be ${article} origin: scheme, host and optional port`)
    return url.origin
  }
}

/** Reads a comma list of public keys. */
export const publicKeys: Reader<ReadonlySet<string>> = (value) => {
  const keys = splitList(value)
  if (keys.some((key) => readTrustedPublicKey(key) === undefined))
    throw new SettingError('must list public keys in base64')
  return new Set(keys)
}

/** Splits a comma list and leaves out spaces around entries and empty entries. */
export function splitList(value: string): string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** Reads a URL with one of these schemes. */
export function urlOf(...schemes: readonly string[]): Reader<string> {
  const rule = `must be ${schemes.map((scheme) => `${scheme}://…`).join(' or ')}`
  return (value) => {
    if (!schemes.some((scheme) => value.startsWith(`${scheme}://`)) || !URL.canParse(value))
      throw new SettingError(rule)
    return value
  }
}
