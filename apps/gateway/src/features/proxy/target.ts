import { type GatewayOperation, GatewayRefusal } from '@chancery/contract'
import { readPublicKey, toUtf8 } from '@chancery/protocol'

const MAX_PARAMETERS = 24
const MAX_VALUE_BYTES = 2048

/**
 * Builds the target at the authority from the template of the catalogue, segment by segment (protocol/gateway 12.1
 * checks 6 and 7, 12.2). Every value is encoded exactly once.
 */
export function toTarget(operation: GatewayOperation, sent: string): string {
  if (sent === '' && operation.parameters.length === 0) return operation.upstream_path
  const values = readQuery(operation, sent)
  const path = operation.upstream_path
    .split('/')
    .map((segment) => (segment.startsWith('{') ? encodeParameter(segment.slice(1, -1), values) : segment))
    .join('/')
  const query = new URLSearchParams()
  for (const name of operation.query) {
    const value = values.get(name)
    if (value !== undefined) query.append(name, value)
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** Checks limits first, then names, then repetitions: a repeated name would change what an operator signed. */
function readQuery({ parameters, query }: GatewayOperation, sent: string): ReadonlyMap<string, string> {
  const pairs = sent.split('&').filter((part) => part !== '')
  if (pairs.length > MAX_PARAMETERS) throw new GatewayRefusal('query_too_large')
  const decoded = pairs.map(readPair)
  if (decoded.some(([, value]) => toUtf8(value).length > MAX_VALUE_BYTES)) throw new GatewayRefusal('query_too_large')
  const isListed = (name: string): boolean => parameters.includes(name) || query.includes(name)
  if (decoded.some(([name]) => !isListed(name))) throw new GatewayRefusal('query_not_allowed')
  const values = new Map(decoded)
  if (values.size !== decoded.length) throw new GatewayRefusal('duplicate_query')
  return values
}

function readPair(text: string): readonly [string, string] {
  const cut = text.indexOf('=')
  return [decode(cut < 0 ? text : text.slice(0, cut)), cut < 0 ? '' : decode(text.slice(cut + 1))]
}

/** Decodes form encoding once. Bytes that are not UTF-8, raw or encoded, have no meaning that both sides agree on. */
function decode(text: string): string {
  if (/[^!-~]/.test(text)) throw new GatewayRefusal('parameter_invalid')
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (error) {
    throw new GatewayRefusal('parameter_invalid', undefined, { cause: error })
  }
}

/** Letters, digits and the characters of identifiers. Combining marks belong to letters without a single code point. */
const ASCII_NAME = /^[A-Za-z0-9_.:@-]+$/
const UNICODE_NAME = /^[\p{L}\p{M}\p{N}_.:@-]+$/u

function encodeParameter(name: string, values: ReadonlyMap<string, string>): string {
  const value = values.get(name)
  if (value === undefined) throw new GatewayRefusal('parameter_missing', { parameter: name })
  if (name === 'node_public_key') return encodeIf(readPublicKey(value) !== undefined, value, name)
  if (name === 'resource_id') {
    return value
      .split('/')
      .map((segment) => encodeIf(isName(segment, UNICODE_NAME), segment, name))
      .join('/')
  }
  return encodeIf(isName(value, name === 'vendor_id' ? UNICODE_NAME : ASCII_NAME), value, name)
}

/** A dot segment has only allowed characters but changes the path. */
function isName(text: string, pattern: RegExp): boolean {
  return pattern.test(text) && text !== '.' && text !== '..'
}

function encodeIf(isValid: boolean, value: string, name: string): string {
  if (!isValid) throw new GatewayRefusal('parameter_invalid', { parameter: name })
  return encodeURIComponent(value)
}
