import type { AddressInfo } from 'node:net'
import type * as Grpc from '@grpc/grpc-js'
import type { Server } from '@grpc/grpc-js'
import { loadOptional, toError } from '@chancery/service-kit'
import type { FeatureListener } from '../../core.ts'
import { Deadline } from '../../edge/deadline.ts'
import { toRefusal } from '../../edge/error-body.ts'
import { RequestIds } from '../../edge/request-ids.ts'
import { RequestSlots } from '../../edge/request-slots.ts'
import { refuse, resultOfStatus } from './answer.ts'
import { checkRequest } from './check-request.ts'
import { CHECK_METHOD, readCheckRequest, writeAllowed, writeDenied } from './ext-authz.ts'
import type { CheckParts } from './parts.ts'

const CHECKS_AT_ONCE = 1024
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
  readonly #slots = new RequestSlots({ requests: CHECKS_AT_ONCE * 2, bodies: 0, bodyBytes: 0 })
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
    const { clock, metrics, settings, log } = this.#parts
    const startedMs = clock.monotonicMs()
    const slots = this.#slots.ofClient('check')
    const deadline = new Deadline(settings.timeoutMs)
    const requestId = this.#ids.next()
    const asked = {
      requestId,
      startedMs,
      address: this.#address.host,
      peerCertificate: undefined,
      isSecure: false,
      deadline,
    }
    let status = 200
    try {
      slots.enter()
      return writeAllowed(await deadline.within(checkRequest(readCheckRequest(bytes), asked, this.#parts)))
    } catch (thrown) {
      if (toRefusal(thrown) === undefined)
        log.error('unexpected error', { request_id: requestId, error: toError(thrown) })
      const refusal = refuse(thrown, 'grpc')
      ;({ status } = refusal)
      return writeDenied(refusal)
    } finally {
      slots.leave()
      deadline.clear()
      metrics.checks.with({ result: resultOfStatus(status) }).increase()
      metrics.checkDuration.observe((clock.monotonicMs() - startedMs) / 1000)
    }
  }
}
