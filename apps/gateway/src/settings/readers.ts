import { isIP } from 'node:net'
import { type Reader, SettingError } from '@chancery/service-kit'

/** Reads a socket address: an IP address with a port, an IPv6 address in brackets. */
export const socketAddress: Reader<{ readonly host: string; readonly port: number }> = (value) => {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(value)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3])
  if (isIP(host) === 0 || port > 65_535) throw new SettingError('must be address:port, for example 127.0.0.1:8080')
  return { host, port }
}

export const httpsUrl: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '' && !value.includes('#')
  if (!isPlain) throw new SettingError('must be an https URL without user info and fragment')
  return value
}

export const trueFalse: Reader<boolean> = (value) => {
  if (value === 'true') return true
  if (value === 'false') return false
  throw new SettingError('must be true or false')
}
