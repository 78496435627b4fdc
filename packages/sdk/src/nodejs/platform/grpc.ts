import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2'
import { type Socket, connect as connectSocket } from 'node:net'
import { PlatformError } from '../../node/evidence.ts'

/** A call was answered with a status other than 0. */
export class GrpcError extends PlatformError {
  override readonly name: string = 'GrpcError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const GRPC_STATUS = { invalidArgument: 3, permissionDenied: 7, unavailable: 14 } as const

const MAX_MESSAGE_BYTES = 1_048_576
const PREFIX_BYTES = 5

export interface GrpcCall {
  /** `unix:///run/agent.sock` or `tcp://127.0.0.1:8081`. */
  readonly socket: string
  readonly path: string
  readonly message: Uint8Array
  readonly timeoutMs: number
}

/** Makes one call without TLS and gives the first message of the answer; a stream is ended after it. */
export async function callGrpc({ socket, path, message, timeoutMs }: GrpcCall): Promise<Uint8Array> {
  // Loaded here: it takes 3 MB, which other sources of evidence do not need.
  const { connect: connectHttp2 } = await import('node:http2')
  const session = connectHttp2('http://localhost', { createConnection: () => openSocket(socket) })
  const timer = setTimeout(
    () => session.destroy(new PlatformError('The Workload API did not answer in time.')),
    timeoutMs,
  )
  try {
    return await request(session, path, message)
  } finally {
    clearTimeout(timer)
    session.destroy()
  }
}

function openSocket(address: string): Socket {
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(address)?.[1]
  if (path !== undefined) return connectSocket({ path })
  const [, host = '', port = ''] = /^tcp:\/\/(\[[0-9a-f:.]+\]|[0-9.]+):([0-9]{1,5})$/i.exec(address) ?? []
  if (host === '') throw new PlatformError('SPIFFE_ENDPOINT_SOCKET must be unix:///path or tcp://ip:port.')
  return connectSocket({ host: host.replace(/^\[|\]$/g, ''), port: Number(port) })
}

function request(session: ClientHttp2Session, path: string, message: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(toError(error))
    session.on('error', fail)
    session.on('close', () => fail(new GrpcError(GRPC_STATUS.unavailable, 'The Workload API closed the connection.')))
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      // Every call needs it: a page in a browser cannot send it.
      'workload.spiffe.io': 'true',
    })
    const received: Uint8Array[] = []
    let size = 0
    const refuse = (headers: IncomingHttpHeaders): void => {
      const failed = failureOf(headers)
      if (failed !== undefined) fail(failed)
    }
    stream.on('response', refuse)
    stream.on('trailers', refuse)
    stream.on('error', fail)
    stream.on('data', (chunk: Uint8Array) => {
      received.push(chunk)
      size += chunk.length
      if (size > MAX_MESSAGE_BYTES) fail(new PlatformError('The answer of the Workload API is too large.'))
      const whole = firstMessage(Buffer.concat(received))
      if (whole === 'compressed') fail(new PlatformError('The Workload API sent a compressed message.'))
      else if (whole !== undefined) resolve(whole)
    })
    stream.on('end', () => fail(new PlatformError('The Workload API sent no message.')))
    stream.end(frame(message))
  })
}

/** Each message has a byte for compression, which is not used here, and its length. */
function frame(message: Uint8Array): Uint8Array {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

function firstMessage(bytes: Buffer): Uint8Array | 'compressed' | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined
  if (bytes[0] !== 0) return 'compressed'
  const end = PREFIX_BYTES + bytes.readUInt32BE(1)
  return bytes.length < end ? undefined : bytes.subarray(PREFIX_BYTES, end)
}

function failureOf(headers: IncomingHttpHeaders): PlatformError | undefined {
  const [http, status] = [headers[':status'], headers['grpc-status']]
  if (http !== undefined && String(http) !== '200')
    return new PlatformError(`The Workload API answered with status ${String(http)}.`)
  if (status === undefined || status === '0') return undefined
  const said = decodeMessage(String(headers['grpc-message'] ?? ''))
  return new GrpcError(Number(status), `The Workload API refused (status ${Number(status)}${said}).`)
}

/** Percent-encoded by the server. */
function decodeMessage(text: string): string {
  if (text === '') return ''
  try {
    return `: ${decodeURIComponent(text).slice(0, 200)}`
  } catch {
    return ''
  }
}

function toError(error: unknown): Error {
  if (error instanceof PlatformError) return error
  return new GrpcError(GRPC_STATUS.unavailable, 'The Workload API cannot be reached. Is the agent running?')
}
