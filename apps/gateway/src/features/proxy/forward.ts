import { type GatewayOperation, GatewayRefusal, OPERATOR_HEADERS, findOperation } from '@chancery/contract'
import { type HttpResponse, type MaybePromise, type RequestHeaders, andThen } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { ClientPolicy } from '../../policy/policy.ts'
import { toClientResponse, upstreamRequestId } from './upstream-response.ts'
import { type ProxyParts, isShared } from './shared-documents.ts'
import { type AdmittedRequest, counted, isHarmless, send } from './send.ts'
import { readPublicKey, toUtf8 } from '@chancery/protocol'

/** Runs checks 1 to 5 of protocol/gateway 12.1. The first check does not reveal which networks exist. */
function admit({ client, params, route, trust, context }: ClientCall): AdmittedRequest {
  const name = decodeName(params['network'] ?? '')
  if (name === undefined || !client.networks.includes(name)) throw new GatewayRefusal('network_scope')
  context.network = name
  const operation = findOperation(params['operation'] ?? '')
  if (operation === undefined) throw new GatewayRefusal('operation_not_found')
  context.operation = operation.id
  if (operation.method !== route.method) {
    throw new GatewayRefusal('operation_method', undefined, { headers: { allow: operation.method } })
  }
  checkScope(client, operation)
  const network = trust?.policy.networks.get(name)
  if (network?.authorityUrl === undefined) throw new GatewayRefusal('authority_not_configured')
  return { network, operation }
}

function checkScope(client: ClientPolicy, operation: GatewayOperation): void {
  const isNamed = client.operations === undefined || client.operations.includes(operation.id)
  if (!client.serviceGroups.includes(operation.group) || !isNamed) throw new GatewayRefusal('service_scope')
  // A public token must not store anything (protocol/gateway 13.4).
  if (client.isDemo && !isHarmless(operation)) throw new GatewayRefusal('service_scope')
  if (operation.admin && !client.authorityAdmin) throw new GatewayRefusal('admin_scope')
}

/** Decodes a network name, which may have any letter. Returns undefined for an invalid encoding. */
function decodeName(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

const VISIBLE = /^[!-~]{1,512}$/

/** Headers that the authority verifies. */
export interface SignedHeaders {
  readonly keyId: string | undefined
  /** Name, value pairs. */
  readonly pairs: readonly string[]
}

const NOT_SIGNED: SignedHeaders = { keyId: undefined, pairs: [] }
const NAMES: readonly string[] = Object.values(OPERATOR_HEADERS)

/**
 * Returns the four operator headers unchanged (protocol/gateway 12.3). Each must occur exactly once: of two, the
 * authority and a reader of the audit could use different ones.
 */
function readOperatorHeaders(headers: RequestHeaders): SignedHeaders {
  const pairs: string[] = []
  for (const name of NAMES) {
    const [value = '', ...more] = headers.all(name)
    if (more.length > 0 || !VISIBLE.test(value)) throw new GatewayRefusal('operator_signature_required')
    pairs.push(name, value)
  }
  return { keyId: headers.get(OPERATOR_HEADERS.keyId), pairs }
}

const MAX_PARAMETERS = 24
const MAX_VALUE_BYTES = 2048

/**
 * Builds the target at the authority from the template of the catalogue, segment by segment (protocol/gateway 12.1
 * checks 6 and 7, 12.2). Every value is encoded exactly once.
 */
function toTarget(operation: GatewayOperation, sent: string): string {
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

/**
 * GET, POST, DELETE /v1/networks/{network}/services/{operation}
 * Forwards one catalogued operation, with the checks in the order of protocol/gateway 12.1. The gateway connects only
 * after the last check, and sends nothing twice.
 */
export function forward(call: ClientCall, parts: ProxyParts): MaybePromise<HttpResponse> {
  const admitted = admit(call)
  const { operation } = admitted
  const target = toTarget(operation, call.query)
  const read = readOperationBody(operation, call, parts)
  // A request that announced a body may have little time left, so it is not shared.
  if (!(read instanceof Promise) && isShared(admitted, target)) return readShared(admitted, target, call, parts)
  return andThen(read, (body) => {
    const signed = operation.admin ? readOperatorHeaders(call.headers) : NOT_SIGNED
    if (signed.keyId !== undefined) call.context.admin_key_id = signed.keyId
    return send(admitted, { target, body, more: signed.pairs }, call, parts).then((response) => {
      call.context.upstream_status = response.status
      const theirId = upstreamRequestId(response)
      if (theirId !== undefined) call.context.upstream_request_id = theirId
      return counted(operation, parts, () =>
        // Not bound by the deadline, because the authority has executed the operation.
        toClientResponse(operation, response, theirId, (bytes, form) =>
          parts.reader.hasForm(bytes, form, { id: call.client.id, check: () => undefined }),
        ),
      )
    })
  })
}

async function readShared(
  admitted: AdmittedRequest,
  target: string,
  call: ClientCall,
  parts: ProxyParts,
): Promise<HttpResponse> {
  const { status, theirId, response } = await parts.documents.read(admitted, target, call, parts)
  call.context.upstream_status = status
  if (theirId !== undefined) call.context.upstream_request_id = theirId
  if (response instanceof GatewayRefusal) throw response
  return response
}

/** Runs check 8. The bytes are checked and stay unchanged, because a signature covers numbers as they were written. */
function readOperationBody(
  operation: GatewayOperation,
  call: ClientCall,
  { reader }: Pick<ProxyParts, 'reader'>,
): MaybePromise<Uint8Array | undefined> {
  if (operation.method === 'GET') {
    return andThen(call.readBytes(), (bytes) => {
      if (bytes.length > 0) throw new GatewayRefusal('body_not_allowed')
      return undefined
    })
  }
  const caller = { id: call.client.id, check: () => call.checkDeadline() }
  return andThen(call.readBody(), (bytes) =>
    andThen(bytes.length === 0 ? 'other' : reader.kindOfBody(bytes, caller), (kind) => {
      if (kind === 'invalid') throw new GatewayRefusal('invalid_json')
      if (kind === 'other') throw new GatewayRefusal('body_object_required')
      return bytes
    }),
  )
}
