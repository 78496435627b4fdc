import { setTimeout as pause } from 'node:timers/promises'
import { EvidenceError } from '../../node/evidence.ts'
import { GRPC_STATUS, GrpcError, callGrpc } from './grpc.ts'
import { type Field, fieldBytes, fieldText, readFields, writeField } from './protobuf.ts'

export interface WorkloadApiOptions {
  /** SPIFFE_ENDPOINT_SOCKET when left out. */
  readonly socket?: string
  /** Which identity, for a workload with several; the first one when left out. */
  readonly spiffeId?: string
  /** For one call. */
  readonly timeoutMs?: number
  /** Calls in total, while the agent is not ready or does not know the workload yet. */
  readonly attempts?: number
}

export interface JwtSvid {
  readonly spiffeId: string
  /** A secret until it expires. */
  readonly token: string
}

export interface X509Svid {
  readonly spiffeId: string
  /** DER, the leaf first. */
  readonly chain: readonly Uint8Array[]
  /** PKCS #8 in DER. */
  readonly privateKey: Uint8Array
}

const DEFAULTS = { timeoutMs: 10_000, attempts: 4 }
const FIRST_PAUSE_MS = 500
const RETRIED: readonly number[] = [GRPC_STATUS.unavailable, GRPC_STATUS.permissionDenied]

/** Asks the Workload API of SPIFFE for a JWT-SVID with one audience. */
export async function fetchJwtSvid(audience: string, options: WorkloadApiOptions = {}): Promise<JwtSvid> {
  const named = options.spiffeId === undefined ? [] : [writeField(2, options.spiffeId)]
  const message = Buffer.concat([writeField(1, audience), ...named])
  const svid = firstSvid(await call('FetchJWTSVID', message, options), options)
  return { spiffeId: fieldText(svid, 1), token: fieldText(svid, 2) }
}

/** Asks the Workload API of SPIFFE for an X.509-SVID with its key. */
export async function fetchX509Svid(options: WorkloadApiOptions = {}): Promise<X509Svid> {
  const svid = firstSvid(await call('FetchX509SVID', new Uint8Array(), options), options)
  return { spiffeId: fieldText(svid, 1), chain: splitDer(fieldBytes(svid, 2)), privateKey: fieldBytes(svid, 3) }
}

function firstSvid(answer: Uint8Array, { spiffeId }: WorkloadApiOptions): readonly Field[] {
  const svids = readFields(answer).flatMap(({ number, bytes }) => (number === 1 ? [readFields(bytes)] : []))
  const chosen = svids.find((svid) => spiffeId === undefined || fieldText(svid, 1) === spiffeId)
  if (chosen === undefined) throw new EvidenceError('The Workload API has no such identity for this workload.')
  return chosen
}

async function call(method: string, message: Uint8Array, options: WorkloadApiOptions): Promise<Uint8Array> {
  const socket = options.socket ?? process.env['SPIFFE_ENDPOINT_SOCKET']
  if (socket === undefined) throw new EvidenceError('SPIFFE_ENDPOINT_SOCKET is not set, so there is no Workload API.')
  const { timeoutMs = DEFAULTS.timeoutMs, attempts = DEFAULTS.attempts } = options
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await callGrpc({ socket, path: `/SpiffeWorkloadAPI/${method}`, message, timeoutMs })
    } catch (error) {
      if (attempt >= attempts || !(error instanceof GrpcError) || !RETRIED.includes(error.status)) throw error
      await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1))
    }
  }
}

/** Certificates one after the other, as the Workload API sends them. */
function splitDer(bytes: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at + 1] ?? 0
    const count = first < 0x80 ? 0 : first & 0x7f
    let length = count === 0 ? first : 0
    for (let i = 0; i < count; i += 1) length = length * 256 + (bytes[at + 2 + i] ?? 0)
    const end = at + 2 + count + length
    if (bytes[at] !== 0x30 || count > 3 || end > bytes.length)
      throw new EvidenceError('The Workload API sent a malformed certificate.')
    found.push(bytes.subarray(at, end))
    at = end
  }
  return found
}
