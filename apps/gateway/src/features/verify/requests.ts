import { GatewayRefusal } from '@chancery/contract'
import {
  FormError,
  JsonError,
  isJsonObject,
  isWithinLimits,
  presentedCertificate,
  readJsonBytes,
  readPublicKey,
  readRevocationList,
  shape,
} from '@chancery/protocol'
import type { JoinCertificate, JsonValue, RevocationList } from '@chancery/protocol'
import type { BatchRequest, RefusedResult, SingleRequest } from './audited-decision.ts'

/** A verify request: certificates, and in development mode the trust inputs of the caller. */
export interface VerifyRequest {
  readonly certificates: readonly JoinCertificate[]
  readonly anchors: JsonValue
  readonly crl: JsonValue
}

/** Limited by the size of the body. A batch of four thousand certificates is normal where the operator allows it. */
const BODY_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 10_000 }

const asIs = (value: JsonValue): JsonValue => value
const NONE: JsonValue = Object.freeze({})

const single = shape.closed({
  certificate: shape.required(presentedCertificate),
  anchors: shape.withDefault(asIs, NONE),
  crl: shape.withDefault(asIs, null),
})

const batch = shape.closed({
  certificates: shape.required(shape.arrayOf(presentedCertificate, { max: Number.MAX_SAFE_INTEGER })),
  anchors: shape.withDefault(asIs, NONE),
  crl: shape.withDefault(asIs, null),
})

export function readSingle(bytes: Uint8Array): VerifyRequest {
  const { certificate, anchors, crl } = read(single, bytes)
  return { certificates: [certificate], anchors, crl }
}

export function readBatch(bytes: Uint8Array): VerifyRequest {
  return read(batch, bytes)
}

function read<Value>(form: (value: JsonValue, field: string) => Value, bytes: Uint8Array): Value {
  try {
    return form(readJsonBytes(bytes, BODY_LIMITS), '')
  } catch (error) {
    if (error instanceof JsonError) throw new GatewayRefusal('invalid_json', undefined, { cause: error })
    if (error instanceof FormError) throw new GatewayRefusal('field', { path: error.field }, { cause: error })
    throw error
  }
}

/** Checks the batch size (protocol/gateway 7.3 step 1). */
export function checkBatchSize({ certificates }: VerifyRequest, maxBatch: number): void {
  if (certificates.length > maxBatch) throw new GatewayRefusal('batch_too_large')
  if (certificates.length === 0) throw new GatewayRefusal('batch_empty')
}

/**
 * Runs steps 2 to 4: field limits, trust inputs, scope. The scope is checked before any look-up, so that a caller
 * cannot find other network names.
 */
export function checkRequest(request: VerifyRequest, networks: readonly string[]): void {
  if (!request.certificates.every(isWithinLimits)) throw new GatewayRefusal('certificate_limits')
  const hasAnchors = !isJsonObject(request.anchors) || Object.keys(request.anchors).length > 0
  if (hasAnchors || request.crl !== null) throw new GatewayRefusal('trust_material_not_accepted')
  if (!request.certificates.every(({ network_name }) => networks.includes(network_name))) {
    throw new GatewayRefusal('network_scope')
  }
}

/** Reads a batch in production mode, with every check that needs no look-up. */
export function readAllowedBatch({ bytes, maxBatch, networks }: BatchRequest): readonly JoinCertificate[] {
  const request = readBatch(bytes)
  checkBatchSize(request, maxBatch)
  checkRequest(request, networks)
  return request.certificates
}

/** Reads one certificate in production mode, with every check that needs no look-up. */
export function readAllowedSingle({ bytes, networks }: SingleRequest): JoinCertificate {
  const request = readSingle(bytes)
  checkRequest(request, networks)
  const [certificate] = request.certificates
  if (certificate === undefined) throw new GatewayRefusal('field', { path: 'certificate' })
  return certificate
}

/** Returns a refusal as a value. Between threads an error would lose its class. */
export function catchRefusal<Value>(work: () => Value): Value | RefusedResult {
  try {
    return work()
  } catch (error) {
    return toRefusedResult(error)
  }
}

export async function catchRefusalAsync<Value>(work: () => Promise<Value>): Promise<Value | RefusedResult> {
  try {
    return await work()
  } catch (error) {
    return toRefusedResult(error)
  }
}

function toRefusedResult(error: unknown): RefusedResult {
  if (error instanceof GatewayRefusal) return { refusal: error.error, details: error.details }
  throw error
}

export interface CallerMaterial {
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly list: RevocationList | undefined
}

/** Reads the trust inputs of development mode: anchors are required, a list is optional (protocol/gateway 3.8). */
export function readCallerMaterial({ certificates, anchors, crl }: VerifyRequest): CallerMaterial {
  if (!certificates.every(isWithinLimits)) throw new GatewayRefusal('certificate_limits')
  const entries = isJsonObject(anchors) ? Object.entries(anchors) : []
  if (entries.length === 0) throw new GatewayRefusal('anchors_required')
  const keys = new Map<string, Uint8Array>()
  for (const [id, text] of entries) {
    const key = typeof text === 'string' ? readPublicKey(text) : undefined
    if (key === undefined) throw new GatewayRefusal('field', { path: 'anchors' })
    keys.set(id, key)
  }
  return { anchors: keys, list: crl === null ? undefined : readCallerList(crl) }
}

function readCallerList(value: JsonValue): RevocationList {
  try {
    return readRevocationList(value)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw new GatewayRefusal('field', { path: error.field === '' ? 'crl' : `crl.${error.field}` }, { cause: error })
  }
}
