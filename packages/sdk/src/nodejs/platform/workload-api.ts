import { setTimeout as pause } from 'node:timers/promises'
import { PlatformError, type PlatformSource, boundAudience } from '../../node/evidence.ts'
import { GRPC_STATUS, GrpcError, callGrpc } from './grpc.ts'
import { type KeyObject, createPrivateKey, sign } from 'node:crypto'

/** Fields of the messages of the Workload API: texts, bytes and messages. Others are skipped. */
interface Field {
  readonly number: number
  readonly bytes: Uint8Array
}

const LENGTH_DELIMITED = 2

/** One length-delimited field. */
function writeField(number: number, value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  return Uint8Array.from([(number << 3) | LENGTH_DELIMITED, ...varint(bytes.length), ...bytes])
}

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 128))]
}

/** The length-delimited fields of a message, in order. */
function readFields(message: Uint8Array): readonly Field[] {
  const found: Field[] = []
  let at = 0
  const next = (): number => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = message[at]
      if (byte === undefined) throw malformed()
      at += 1
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw malformed()
  }
  while (at < message.length) {
    const tag = next()
    const [number, type] = [tag >>> 3, tag & 7]
    if (type === LENGTH_DELIMITED) {
      const length = next()
      if (at + length > message.length) throw malformed()
      found.push({ number, bytes: message.subarray(at, at + length) })
      at += length
    } else if (type === 0) next()
    else if (type === 1) at += 8
    else if (type === 5) at += 4
    else throw malformed()
  }
  if (at !== message.length) throw malformed()
  return found
}

function fieldText(fields: readonly Field[], number: number): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(fieldBytes(fields, number))
}

/** The last one counts, as in every reader of this format. */
function fieldBytes(fields: readonly Field[], number: number): Uint8Array {
  return fields.findLast((field) => field.number === number)?.bytes ?? new Uint8Array()
}

function malformed(): PlatformError {
  return new PlatformError('The Workload API sent a malformed message.')
}

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
  if (chosen === undefined) throw new PlatformError('The Workload API has no such identity for this workload.')
  return chosen
}

async function call(method: string, message: Uint8Array, options: WorkloadApiOptions): Promise<Uint8Array> {
  const socket = options.socket ?? process.env['SPIFFE_ENDPOINT_SOCKET']
  if (socket === undefined) throw new PlatformError('SPIFFE_ENDPOINT_SOCKET is not set, so there is no Workload API.')
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
      throw new PlatformError('The Workload API sent a malformed certificate.')
    found.push(bytes.subarray(at, end))
    at = end
  }
  return found
}

/** A JWT-SVID whose audience names the node key. */
export function spiffeJwt(options: WorkloadApiOptions = {}): PlatformSource {
  return async (audience) => ({ token: (await fetchJwtSvid(boundAudience(audience), options)).token })
}

/** An X.509-SVID, and a proof by its key that is bound to the node key. */
export function spiffeX509(options: WorkloadApiOptions & { readonly clock?: () => number } = {}): PlatformSource {
  return async (audience) => {
    const { chain, privateKey } = await fetchX509Svid(options)
    const key = createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' })
    const now = Math.floor((options.clock ?? Date.now)() / 1000)
    const token = signProof(key, { aud: boundAudience(audience), iat: now, exp: now + PROOF_SECONDS })
    return { token, certificate_chain: chain.map((der) => Buffer.from(der).toString('base64')) }
  }
}

const PROOF_SECONDS = 300
const PROOF_TYPE = 'chancery-svid-proof+jwt'
const CURVES: Readonly<Record<string, { readonly alg: string; readonly hash: string }>> = {
  prime256v1: { alg: 'ES256', hash: 'sha256' },
  secp384r1: { alg: 'ES384', hash: 'sha384' },
  secp521r1: { alg: 'ES512', hash: 'sha512' },
}

/** A compact JWS. */
function signProof(key: KeyObject, claims: object): string {
  const { alg, hash } = algorithmOf(key)
  const input = `${encode({ alg, typ: PROOF_TYPE })}.${encode(claims)}`
  const signature = sign(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): {
  readonly alg: string
  readonly hash: string
} {
  if (asymmetricKeyType === 'rsa') return { alg: 'RS256', hash: 'sha256' }
  const curve = CURVES[asymmetricKeyDetails?.namedCurve ?? '']
  if (asymmetricKeyType === 'ec' && curve !== undefined) return curve
  throw new PlatformError('The key of the X.509-SVID is neither RSA nor ECDSA.')
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
