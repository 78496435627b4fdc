import { type TokenErrorName, TokenRefusal } from '@chancery/contract'
import { fromUtf8 } from '@chancery/protocol'
import type { RequestHeaders } from '@chancery/service-kit'

/** The longest body, whatever GATEWAY_MAX_BODY_BYTES says. */
export const FORM_BYTES = 65_536
const MAX_PARAMETERS = 32
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

/** Parameters by name. One without a value counts as absent. */
export type FormParameters = ReadonlyMap<string, string>

/** Refuses a body that is no form, before it is read. */
export function checkFormHead(headers: RequestHeaders, query: string): void {
  const [type, ...more] = headers.all('content-type')
  const isForm = type !== undefined && more.length === 0 && FORM_TYPE.test(type)
  if (!isForm || headers.all('content-encoding').length > 0) throw new TokenRefusal('content_type')
  if (query !== '') throw new TokenRefusal('form_invalid')
}

/** Reads a form strictly. A parameter that occurs twice has two readings. */
export function readFormBody(bytes: Uint8Array): FormParameters {
  const text = Buffer.from(bytes).toString('latin1')
  const pairs = text === '' ? [] : text.split('&')
  if (pairs.length > MAX_PARAMETERS) throw new TokenRefusal('form_invalid')
  const decoded = pairs.map((pair) => {
    const at = pair.indexOf('=')
    return [decode(at < 0 ? pair : pair.slice(0, at)), decode(at < 0 ? '' : pair.slice(at + 1))] as const
  })
  const parameters = new Map<string, string>()
  for (const [name, value] of decoded) {
    if (parameters.has(name)) throw new TokenRefusal(repeated(name))
    parameters.set(name, value)
  }
  for (const [name, value] of decoded) if (value === '') parameters.delete(name)
  return parameters
}

function repeated(name: string): TokenErrorName {
  return name === 'resource' ? 'resource_repeated' : 'parameter_repeated'
}

/** Visible ASCII with percent-encoded UTF-8; a plus is a space. */
function decode(text: string): string {
  if (!/^(?:[!-$&-~]|%[0-9A-Fa-f]{2})*$/.test(text)) throw new TokenRefusal('form_invalid')
  const bytes = text
    .replaceAll('+', ' ')
    .replaceAll(/%(..)/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  const decoded = fromUtf8(Buffer.from(bytes, 'latin1'))
  if (decoded === undefined) throw new TokenRefusal('form_invalid')
  return decoded
}
