import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { readJsonBytes, signOperatorRequest, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, Signer } from '@chancery/protocol'
import { readTarget } from '@chancery/service-kit'
import { findUndescribedRefusal } from './described-refusals.ts'

export interface TestResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** As sent, not decompressed. */
  readonly bytes: Uint8Array
  readonly text: string
  /** Undefined when the body is not JSON. */
  readonly json: JsonValue | undefined
}

export interface SendOptions {
  readonly body?: JsonObject
  /** Sent instead of `body`, byte for byte. */
  readonly rawBody?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Loopback address to call from, so that each caller has its own limits. */
  readonly from?: string
}

/** One request with the target exactly as given. */
export function send(url: string, method: string, target: string, options: SendOptions = {}): Promise<TestResponse> {
  const payload = options.rawBody ?? (options.body === undefined ? undefined : writeJson(options.body))
  const { hostname, port } = new URL(url)
  const headers = {
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
    ...(options.headers as Record<string, string | string[]> | undefined),
  }
  const from = options.from === undefined ? {} : { localAddress: options.from }
  return new Promise((resolve, reject) => {
    const call = httpRequest({ hostname, port, method, path: target, headers, agent: false, ...from }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const [status, json] = [answer.statusCode ?? 0, tryJson(bytes)]
        const problem = findUndescribedRefusal(method, target, status, json)
        if (problem === undefined)
          resolve({ status, headers: answer.headers, bytes, text: bytes.toString('utf8'), json })
        else reject(new Error(problem))
      })
    })
    call.on('error', reject)
    call.end(payload)
  })
}

function tryJson(bytes: Uint8Array): JsonValue | undefined {
  try {
    return readJsonBytes(bytes)
  } catch {
    return undefined
  }
}

/** What a test may get wrong on purpose. */
export interface OperatorOptions extends SendOptions {
  readonly signer?: Signer
  readonly timestamp?: string
  readonly nonce?: string
  readonly audience?: string
  readonly signedMethod?: string
  readonly signedPath?: string
  readonly signedBody?: JsonObject
}

let counter = 0

/** A caller with an operator key. */
export function operatorCaller(url: string, signer: Signer, audience: string, now: () => Instant) {
  return async (
    method: string,
    target: string,
    body?: JsonObject,
    options: OperatorOptions = {},
  ): Promise<TestResponse> => {
    const { path, query } = readTarget(target)
    counter += 1
    const signed = await signOperatorRequest(
      {
        method: options.signedMethod ?? method,
        path: options.signedPath ?? path,
        query: query.toObject(),
        audience: options.audience ?? audience,
        body: options.signedBody ?? body ?? {},
        timestamp: options.timestamp ?? writeInstant(now()),
        nonce: options.nonce ?? `test-${process.pid}-${counter}`,
      },
      options.signer ?? signer,
    )
    const sent = body === undefined ? {} : { body }
    return send(url, method, target, { ...sent, ...options, headers: { ...signed, ...options.headers } })
  }
}
