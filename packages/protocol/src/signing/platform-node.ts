import { BoundedCache, KEY_CACHE_SIZE, cacheName, toPkcs8, toSpki } from './platform.ts'
import type { Ed25519Backend, KeySigner } from './platform.ts'

/** The few functions of node:crypto used here; this package compiles without Node's types. */
interface NodeKey {
  export(options: { format: 'jwk' }): { x?: string }
}
interface NodeCrypto {
  createPublicKey(key: NodeKey | { key: Uint8Array; format: 'der'; type: 'spki' }): NodeKey
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): NodeKey
  verify(algorithm: null, data: Uint8Array, key: NodeKey, signature: Uint8Array): boolean
  sign(algorithm: null, data: Uint8Array, key: NodeKey): Uint8Array
  hash(algorithm: 'sha256', data: Uint8Array, encoding: 'buffer'): Uint8Array
}
interface NodeGlobal {
  readonly process: { getBuiltinModule(name: 'node:crypto'): NodeCrypto }
}

const crypto = (globalThis as unknown as NodeGlobal).process.getBuiltinModule('node:crypto')

export function sha256(bytes: Uint8Array): Uint8Array {
  return crypto.hash('sha256', bytes, 'buffer')
}

const publicKeys = new BoundedCache<NodeKey>(KEY_CACHE_SIZE)

function importPublicKey(bytes: Uint8Array): NodeKey {
  const name = cacheName(bytes)
  const known = publicKeys.get(name)
  if (known !== undefined) return known
  const key = crypto.createPublicKey({ key: toSpki(bytes), format: 'der', type: 'spki' })
  publicKeys.set(name, key)
  return key
}

export const ed25519: Ed25519Backend = {
  name: 'node:crypto',
  verify(publicKey, message, signature) {
    return crypto.verify(null, message, importPublicKey(publicKey), signature)
  },
  signer(seed): KeySigner {
    const key = crypto.createPrivateKey({ key: toPkcs8(seed), format: 'der', type: 'pkcs8' })
    const x = crypto.createPublicKey(key).export({ format: 'jwk' }).x ?? ''
    const text = x.replaceAll('-', '+').replaceAll('_', '/')
    const publicKey = Uint8Array.from(atobBytes(text))
    return { publicKey, sign: (message) => new Uint8Array(crypto.sign(null, message, key)) }
  },
}

function* atobBytes(text: string): Generator<number> {
  const decode = (globalThis as unknown as { atob(text: string): string }).atob
  for (const unit of decode(text)) yield unit.charCodeAt(0)
}
