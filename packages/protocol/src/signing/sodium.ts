import { type Ed25519Backend, type KeySigner, LARGE_BYTES } from './platform.ts'

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
