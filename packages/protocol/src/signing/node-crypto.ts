import { fromBase64 } from '../canonical/base64.ts'
import { requireNode } from './node-version.ts'
import { BoundedCache, KEY_CACHE_SIZE, LARGE_BYTES, cacheName, toPkcs8, toSpki } from './platform.ts'
import type { Ed25519Backend, KeySigner } from './platform.ts'

/** The few functions of node:crypto used here; this package compiles without Node's types. */
interface NodeKey {
  export(options: { format: 'jwk' }): { x?: string }
}
type Done<Value> = (error: Error | null, value: Value) => void
interface NodeCrypto {
  createPublicKey(key: NodeKey | { key: Uint8Array; format: 'der'; type: 'spki' }): NodeKey
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): NodeKey
  verify(algorithm: null, data: Uint8Array, key: NodeKey, signature: Uint8Array): boolean
  verify(algorithm: null, data: Uint8Array, key: NodeKey, signature: Uint8Array, done: Done<boolean>): void
  sign(algorithm: null, data: Uint8Array, key: NodeKey): Uint8Array
  sign(algorithm: null, data: Uint8Array, key: NodeKey, done: Done<Uint8Array>): void
  hash(algorithm: 'sha256', data: Uint8Array, encoding: 'buffer'): Uint8Array
  hash(algorithm: 'sha256', data: string, encoding: 'hex'): string
}
const crypto = requireNode<{ 'node:crypto': NodeCrypto }>().getBuiltinModule('node:crypto')

export function sha256(bytes: Uint8Array): Uint8Array {
  return crypto.hash('sha256', bytes, 'buffer')
}

/** Lowercase hex over the UTF-8 form of a text, which is never spelled out on this side. */
export function sha256Text(text: string): string {
  return crypto.hash('sha256', text, 'hex')
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

/** The platform's own library. */
export const nodeCrypto: Ed25519Backend = {
  name: 'node:crypto',
  verify(publicKey, message, signature) {
    const key = importPublicKey(publicKey)
    if (message.length < LARGE_BYTES) return crypto.verify(null, message, key, signature)
    return inPool((done) => crypto.verify(null, message, key, signature, done))
  },
  async verifyAside(publicKey, message, signature) {
    const key = importPublicKey(publicKey)
    return inPool((done) => crypto.verify(null, message, key, signature, done))
  },
  signer(seed): KeySigner {
    const key = crypto.createPrivateKey({ key: toPkcs8(seed), format: 'der', type: 'pkcs8' })
    const x = crypto.createPublicKey(key).export({ format: 'jwk' }).x ?? ''
    const publicKey = fromBase64(`${x.replaceAll('-', '+').replaceAll('_', '/')}=`) ?? new Uint8Array()
    const sign = async (message: Uint8Array): Promise<Uint8Array> =>
      message.length < LARGE_BYTES
        ? crypto.sign(null, message, key)
        : inPool((done) => crypto.sign(null, message, key, done))
    return { publicKey, sign: async (message) => new Uint8Array(await sign(message)) }
  },
}

function inPool<Value>(start: (done: Done<Value>) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error === null || error === undefined ? resolve(value) : reject(error)))
  })
}
