import { BoundedCache, KEY_CACHE_SIZE, LARGE_BYTES, cacheName, toPkcs8, toSpki } from './platform.ts'
import type { Ed25519Backend, KeySigner } from './platform.ts'
import { fromBase64 } from '../canonical/base64.ts'

/** The few functions of libsodium used here, as the package `sodium-native` binds them. */
export interface Sodium {
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
  crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void
  sodium_malloc(bytes: number): Uint8Array
  sodium_mprotect_readonly(secret: Uint8Array): void
}

type Require = ((name: string) => unknown) & { resolve(name: string): string }

interface NodeGlobal {
  readonly process: {
    readonly env: Readonly<Record<string, string | undefined>>
    getBuiltinModule(name: 'node:module'): { createRequire(from: string): Require }
  }
}

/**
 * The library where it is installed and fits this machine, unless CHANCERY_NATIVE is `off`. It is an optional dependency: without it, or on a system it
 * has no binary for, the platform's own library does the same work in more than twice the time.
 */
export function findSodium(): Sodium | undefined {
  const { process } = globalThis as unknown as NodeGlobal
  const here = (import.meta as unknown as { readonly url: string }).url
  const load = process.getBuiltinModule('node:module').createRequire(here)
  try {
    load.resolve('sodium-native')
    // Read only where the package is installed: other runtimes ask the user before a program reads a variable.
    return process.env['CHANCERY_NATIVE'] === 'off' ? undefined : (load('sodium-native') as Sodium)
  } catch {
    return undefined
  }
}

/** Short messages by libsodium; long ones and those set aside stay with `other`, which has the thread pool. */
export function withSodium(sodium: Sodium, other: Ed25519Backend): Ed25519Backend {
  return {
    name: 'libsodium',
    verify: (publicKey, message, signature) =>
      message.length < LARGE_BYTES
        ? sodium.crypto_sign_verify_detached(signature, message, publicKey)
        : other.verify(publicKey, message, signature),
    verifyAside: async (publicKey, message, signature) =>
      other.verifyAside === undefined
        ? other.verify(publicKey, message, signature)
        : other.verifyAside(publicKey, message, signature),
    signer: async (seed): Promise<KeySigner> => {
      const long = await other.signer(seed)
      const publicKey = new Uint8Array(32)
      // Guarded memory of the library: not swapped out, not copied by the garbage collector.
      const secret = sodium.sodium_malloc(64)
      sodium.crypto_sign_seed_keypair(publicKey, secret, seed)
      sodium.sodium_mprotect_readonly(secret)
      const sign = (message: Uint8Array): Uint8Array => {
        const signature = new Uint8Array(64)
        sodium.crypto_sign_detached(signature, message, secret)
        return signature
      }
      return { publicKey, sign: (message) => (message.length < LARGE_BYTES ? sign(message) : long.sign(message)) }
    },
  }
}

/** The part of `process` used here; this package compiles without Node's types. */
interface NodeProcess<Modules> {
  readonly versions: { readonly node?: string }
  getBuiltinModule<Name extends keyof Modules>(name: Name): Modules[Name]
}

/** The first version with every function that the client library uses (docs/decisions/0001). */
const FIRST = [22, 13] as const

/** Returns the sentence for a version that is too old, or undefined. */
export function findVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < FIRST[0] || (major === FIRST[0] && minor < FIRST[1])
  return isOld
    ? `Chancery needs Node.js ${FIRST.join('.')} or later, and this is ${version}: install a newer one.`
    : undefined
}

/** Returns the process, or throws one sentence where Node.js is too old. Without it the first missing function would throw. */
export function requireNode<Modules>(): NodeProcess<Modules> {
  const { process } = globalThis as unknown as { readonly process: NodeProcess<Modules> }
  const problem = findVersionProblem(process.versions.node ?? '')
  // Other runtimes name the version of Node.js that they imitate, or none.
  if (process.versions.node !== undefined && problem !== undefined) throw new Error(problem)
  return process
}

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

let chosen: Ed25519Backend | undefined

/** Loads libsodium with the first signature, because most commands make and check none. */
function choose(): Ed25519Backend {
  const sodium = findSodium()
  chosen = sodium === undefined ? nodeCrypto : withSodium(sodium, nodeCrypto)
  return chosen
}

/** libsodium where it is installed, otherwise the platform's own; both give the same verdicts (docs/decisions/0006). */
export const ed25519: Ed25519Backend = {
  get name() {
    return (chosen ?? choose()).name
  },
  verify: (publicKey, message, signature) => (chosen ?? choose()).verify(publicKey, message, signature),
  verifyAside: async (publicKey, message, signature) => {
    const backend = chosen ?? choose()
    return backend.verifyAside === undefined
      ? backend.verify(publicKey, message, signature)
      : backend.verifyAside(publicKey, message, signature)
  },
  signer: (seed) => (chosen ?? choose()).signer(seed),
}

interface NodeTimers {
  setImmediate(next: () => void): unknown
}

/** Resolves when everything that waits in this turn of the event loop was served. */
export function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    ;(globalThis as unknown as NodeTimers).setImmediate(resolve)
  })
}
