import { BoundedCache, type Ed25519Backend, KEY_CACHE_SIZE, type KeySigner, cacheName, toPkcs8 } from './platform.ts'

export { sha256, sha256Text } from './sha256.ts'

/** The part of WebCrypto used here; this package compiles without a browser's types. */
type WebKey = object
interface WebSubtle {
  importKey(
    format: 'raw' | 'pkcs8',
    bytes: Uint8Array,
    algorithm: 'Ed25519',
    extractable: boolean,
    usages: string[],
  ): Promise<WebKey>
  exportKey(format: 'jwk', key: WebKey): Promise<{ x?: string }>
  verify(algorithm: 'Ed25519', key: WebKey, signature: Uint8Array, data: Uint8Array): Promise<boolean>
  sign(algorithm: 'Ed25519', key: WebKey, data: Uint8Array): Promise<ArrayBuffer>
}
interface WebGlobal {
  readonly crypto: { readonly subtle: WebSubtle }
  atob(text: string): string
}

const web = globalThis as unknown as WebGlobal
const publicKeys = new BoundedCache<WebKey>(KEY_CACHE_SIZE)

async function importPublicKey(bytes: Uint8Array): Promise<WebKey> {
  const name = cacheName(bytes)
  const known = publicKeys.get(name)
  if (known !== undefined) return known
  const key = await web.crypto.subtle.importKey('raw', bytes, 'Ed25519', true, ['verify'])
  publicKeys.set(name, key)
  return key
}

export const ed25519: Ed25519Backend = {
  name: 'WebCrypto',
  async verify(publicKey, message, signature) {
    return web.crypto.subtle.verify('Ed25519', await importPublicKey(publicKey), signature, message)
  },
  async signer(seed): Promise<KeySigner> {
    const pkcs8 = toPkcs8(seed)
    // WebCrypto gives the public half only through an export; the key that signs is imported again, non-extractable.
    const readable = await web.crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign'])
    const { x = '' } = await web.crypto.subtle.exportKey('jwk', readable)
    const text = web.atob(x.replaceAll('-', '+').replaceAll('_', '/'))
    const publicKey = Uint8Array.from(text, (unit) => unit.charCodeAt(0))
    const key = await web.crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign'])
    pkcs8.fill(0)
    return { publicKey, sign: async (message) => new Uint8Array(await web.crypto.subtle.sign('Ed25519', key, message)) }
  },
}

/** WebCrypto runs every check outside the event loop, so there is nothing to wait for. */
export function nextLoopTurn(): Promise<void> {
  return Promise.resolve()
}
