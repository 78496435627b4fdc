/** JWS algorithms of asymmetric keys. `none` and HMAC are in no list. */
export const ADMISSION_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
  'Ed25519',
] as const

export type AdmissionAlgorithm = (typeof ADMISSION_ALGORITHMS)[number]

/** SPIFFE allows RSA and ECDSA only. */
export function isSpiffeAlgorithm(name: AdmissionAlgorithm): boolean {
  return name !== 'EdDSA' && name !== 'Ed25519'
}
