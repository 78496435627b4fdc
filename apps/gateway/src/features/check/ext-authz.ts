import type { CheckRefusal } from './answer.ts'
import type { ResultHeaders } from './check-request.ts'
import type { CheckedRequest } from './checked-request.ts'
import { checkOriginal } from './dialects.ts'
import { allBytes, field, message, onlyBytes, onlyText, readFields } from './protobuf.ts'

/** `envoy.service.auth.v3.Authorization/Check`, by its published field numbers. */
export const CHECK_METHOD = '/envoy.service.auth.v3.Authorization/Check'

const ATTRIBUTES = 1
const REQUEST = 4
const HTTP = 2
const HTTP_FIELDS = { method: 2, headers: 3, path: 4, body: 11, rawBody: 12, headerMap: 13 } as const
const NONE = new Uint8Array()

/** Reads a CheckRequest. Envoy sends the headers as a map, or with `encode_raw_headers` as a list. */
export function readCheckRequest(bytes: Uint8Array): CheckedRequest {
  const attributes = readFields(onlyBytes(readFields(bytes), ATTRIBUTES) ?? NONE)
  const http = readFields(onlyBytes(readFields(onlyBytes(attributes, REQUEST) ?? NONE), HTTP) ?? NONE)
  const headerMap = readFields(onlyBytes(http, HTTP_FIELDS.headerMap) ?? NONE)
  const headers = [...allBytes(http, HTTP_FIELDS.headers), ...allBytes(headerMap, 1)].map(readHeader)
  const body = onlyBytes(http, HTTP_FIELDS.rawBody) ?? onlyBytes(http, HTTP_FIELDS.body) ?? NONE
  return {
    dialect: 'grpc',
    ...checkOriginal({ method: onlyText(http, HTTP_FIELDS.method), target: onlyText(http, HTTP_FIELDS.path) }),
    names: headers.map(([name]) => name),
    all: (wanted) => headers.filter(([name]) => name === wanted).map(([, value]) => value),
    body: () => body,
  }
}

/** An entry of the map, or a HeaderValue: key 1, value 2, raw_value 3. */
function readHeader(bytes: Uint8Array): readonly [string, string] {
  const header = readFields(bytes)
  const raw = onlyBytes(header, 3)
  const value = raw === undefined ? onlyText(header, 2) : Buffer.from(raw).toString('latin1')
  return [onlyText(header, 1).toLowerCase(), value]
}

const OVERWRITE = 2

/** HeaderValueOption: header 1, append_action 3. The value replaces what a client sent. */
function headerOption(name: string, value: string): Uint8Array {
  return message(field(1, message(field(1, name), field(2, value))), field(3, OVERWRITE))
}

/** CheckResponse with ok_response 3 and dynamic_metadata 4, a Struct with the same names for access logs. */
export function writeAllowed(headers: ResultHeaders): Uint8Array {
  const entries = Object.entries(headers)
  const options = entries.map(([name, value]) => field(2, headerOption(name, value)))
  const metadata = entries.map(([name, value]) => field(1, message(field(1, name), field(2, field(3, value)))))
  return message(field(1, field(1, 0)), field(3, message(...options)), field(4, message(...metadata)))
}

const PERMISSION_DENIED = 7
const UNAVAILABLE = 14
const UNAUTHENTICATED = 16
const CODES = { 401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 503: UNAVAILABLE } as const

/**
 * CheckResponse with denied_response 2: status 1, headers 2, body 3. Also for trouble of this gateway: an error of the
 * call would pass where an operator set `failure_mode_allow`.
 */
export function writeDenied({ status, reason, headers, body }: CheckRefusal): Uint8Array {
  const options = Object.entries(headers).map(([name, value]) => field(2, headerOption(name, value)))
  const type = field(2, headerOption('content-type', body.contentType))
  const denied = message(field(1, field(1, status)), ...options, type, field(3, body.body))
  return message(field(1, message(field(1, CODES[status]), field(2, reason))), field(2, denied))
}
