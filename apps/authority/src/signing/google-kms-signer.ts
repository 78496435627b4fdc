import { createPublicKey } from 'node:crypto'
import { type JsonObject, type Signer, fromBase64, member, toBase64 } from '@chancery/protocol'
import { KeyServiceError, callKeyService, readToken } from './key-service.ts'
import type { KeyServiceCall, KeyServiceOptions } from './key-service.ts'
import { KeyUnavailableError } from './vault-signer.ts'

/** Castagnoli's polynomial, reflected. */
const POLYNOMIAL = 0x82f63b78

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1
  return value >>> 0
})

/** The checksum that Google Cloud KMS sends with data. The platform has only the other CRC-32. */
export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0)
  return (value ^ 0xffffffff) >>> 0
}

export interface GoogleKmsOptions extends KeyServiceOptions {
  /** projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/N */
  readonly keyVersion: string
}

/** A key version of Google Cloud KMS. Every response names the version and has checksums. Both are compared. */
export async function openGoogleKmsSigner(place: GoogleKmsOptions, keyId: string): Promise<Signer> {
  let facts: JsonObject
  try {
    facts = await callKms(place, { method: 'GET', path: `/v1/${place.keyVersion}/publicKey`, headers: {} })
  } catch (error) {
    throw new KeyUnavailableError(`NA_KEY_URI: ${place.keyVersion} cannot be read`, { cause: error })
  }
  if (member(facts, 'algorithm') !== 'EC_SIGN_ED25519')
    throw new KeyUnavailableError(`NA_KEY_URI: ${place.keyVersion} is not of algorithm EC_SIGN_ED25519`)
  const publicKey = readPem(member(facts, 'pem'))
  if (publicKey === undefined || member(facts, 'name') !== place.keyVersion)
    throw new KeyUnavailableError(`NA_KEY_URI: ${place.keyVersion} has no readable public key`)
  return { keyId, publicKey, sign: (message) => sign(place, message) }
}

async function sign(place: GoogleKmsOptions, message: Uint8Array): Promise<Uint8Array> {
  const body = { data: toBase64(message), dataCrc32c: String(crc32c(message)) }
  const path = `/v1/${place.keyVersion}:asymmetricSign`
  const answer = await callKms(place, { method: 'POST', path, headers: {}, body })
  const text = member(answer, 'signature')
  const signature = typeof text === 'string' ? fromBase64(text) : undefined
  const isWhole =
    signature?.length === 64 &&
    member(answer, 'name') === place.keyVersion &&
    member(answer, 'verifiedDataCrc32c') === true &&
    member(answer, 'signatureCrc32c') === String(crc32c(signature))
  if (!isWhole) throw new KeyServiceError('the key service returned no signature of this key, or a damaged one')
  return signature
}

async function callKms(place: GoogleKmsOptions, call: KeyServiceCall): Promise<JsonObject> {
  return callKeyService(place, { ...call, headers: { authorization: `Bearer ${await readToken(place)}` } })
}

function readPem(pem: unknown): string | undefined {
  if (typeof pem !== 'string') return undefined
  try {
    const { x, crv } = createPublicKey(pem).export({ format: 'jwk' })
    return crv === 'Ed25519' && x !== undefined ? Buffer.from(x, 'base64url').toString('base64') : undefined
  } catch {
    return undefined
  }
}
