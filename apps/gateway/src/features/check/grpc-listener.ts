import type { AddressInfo } from 'node:net'
import type * as Grpc from '@grpc/grpc-js'
import type { Server } from '@grpc/grpc-js'
import { loadOptional } from '@chancery/service-kit'
import type { FeatureListener } from '../../core.ts'
import { RequestIds } from '../../edge/server.ts'
import { type CheckRefusal, checkSlots, refuse, resultOfStatus } from './check-edge.ts'
import { type ResultHeaders, runCheck } from './check-request.ts'
import { type CheckParts, type CheckedRequest, checkOriginal } from './checked-request.ts'
import { allBytes, field, message, onlyBytes, onlyText, readFields } from './protobuf.ts'

/** `envoy.service.auth.v3.Authorization/Check`, by its published field numbers. */
const CHECK_METHOD = '/envoy.service.auth.v3.Authorization/Check'

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
function writeAllowed(headers: ResultHeaders): Uint8Array {
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
function writeDenied({ status, reason, headers, body }: CheckRefusal): Uint8Array {
  const options = Object.entries(headers).map(([name, value]) => field(2, headerOption(name, value)))
  const type = field(2, headerOption('content-type', body.contentType))
  const denied = message(field(1, field(1, status)), ...options, type, field(3, body.body))
  return message(field(1, message(field(1, CODES[status]), field(2, reason))), field(2, denied))
}

/** For the headers and the other attributes of a request. */
const MORE_BYTES = 131_072

/** Throws when the package is not installed. */
export function loadGrpc(): Promise<typeof Grpc> {
  return loadOptional('grpc', 'GATEWAY_CHECK_GRPC_ADDR', () => import('@grpc/grpc-js'))
}

/** The check as Envoy asks it over gRPC (ext_authz). It listens on a loopback address only, without TLS. */
export class GrpcListener implements FeatureListener {
  readonly name = 'check-grpc'
  readonly #parts: CheckParts
  readonly #address: { readonly host: string; readonly port: number }
  readonly #ids: RequestIds
  readonly #slotsOfCheck = checkSlots()
  #server: Server | undefined

  constructor(parts: CheckParts, address: { readonly host: string; readonly port: number }) {
    this.#parts = parts
    this.#address = address
    this.#ids = new RequestIds(parts.ids)
  }

  async listen(): Promise<AddressInfo> {
    // Loaded only where it is used.
    const grpc = await loadGrpc()
    const asIs = (bytes: Buffer): Buffer => bytes
    const shape = { path: CHECK_METHOD, requestStream: false, responseStream: false } as const
    const codecs = {
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    }
    const server = new grpc.Server({
      'grpc.max_receive_message_length': this.#parts.settings.maxBodyBytes + MORE_BYTES,
    })
    server.addService(
      { Check: { ...shape, ...codecs } },
      {
        Check: (call: { readonly request: Buffer }, answer: (error: null, value: Buffer) => void) => {
          void this.#check(call.request).then((bytes) => answer(null, Buffer.from(bytes)))
        },
      },
    )
    this.#server = server
    const { host, port } = this.#address
    const name = host.includes(':') ? `[${host}]` : host
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`${name}:${port}`, grpc.ServerCredentials.createInsecure(), (error, given) => {
        if (error === null) resolve(given)
        else reject(error)
      })
    })
    return { address: host, family: host.includes(':') ? 'IPv6' : 'IPv4', port: bound }
  }

  replaceTls(): void {
    // It has none.
  }

  stopKeepAlive(): void {
    // Envoy opens new calls on its connection until the server ends it.
  }

  stopAccepting(): Promise<void> {
    return new Promise((done) => {
      if (this.#server === undefined) done()
      else this.#server.tryShutdown(() => done())
    })
  }

  /** Answers every question; what is thrown denies. */
  async #check(bytes: Uint8Array): Promise<Uint8Array> {
    const { clock, metrics, log } = this.#parts
    const startedMs = clock.monotonicMs()
    const requestId = this.#ids.next()
    const { host: address } = this.#address
    const asked = { requestId, startedMs, address, peerCertificate: undefined, isSecure: false }
    let status = 200
    try {
      return writeAllowed(await runCheck(() => readCheckRequest(bytes), asked, this.#slotsOfCheck(), this.#parts))
    } catch (thrown) {
      const refusal = refuse(thrown, 'grpc', requestId, log)
      ;({ status } = refusal)
      return writeDenied(refusal)
    } finally {
      metrics.checks.with({ result: resultOfStatus(status) }).increase()
      metrics.checkDuration.observe((clock.monotonicMs() - startedMs) / 1000)
    }
  }
}
