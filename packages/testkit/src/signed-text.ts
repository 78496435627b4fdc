import { createPublicKey, verify } from 'node:crypto'

type Plain = null | boolean | number | string | readonly Plain[] | { readonly [name: string]: Plain }

/**
 * Whether one signature of a signed record verifies under a key, by code that is not the product's: JSON.parse, a sort
 * and the platform's Ed25519. Good for records of ASCII text and small integers, which is what tests sign.
 */
export function verifiesWithNodeCrypto(text: string, publicKey: string): boolean {
  const { signatures, signature, ...rest } = JSON.parse(text) as {
    signatures?: { sig: string }[]
    signature?: { sig: string } | null
    [name: string]: Plain | { sig: string }[] | undefined
  }
  const carried = [...(signatures ?? []), ...(signature === undefined || signature === null ? [] : [signature])]
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const bytes = Buffer.from(sorted(rest as Plain))
  return carried.some(({ sig }) => verify(null, bytes, key, Buffer.from(sig, 'base64')))
}

function sorted(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`).join(',')}}`
}
