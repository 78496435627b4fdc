import { randomBytes } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { toUtf8 } from '../canonical/utf8.ts'
import { ed25519 as inUse, findSodium, nodeCrypto, withSodium } from './platform-node.ts'
import { BoundedCache, KEY_CACHE_SIZE, cacheName } from './platform.ts'
import { ed25519 as webBackend } from './platform-web.ts'

describe('BoundedCache', () => {
  it('never holds more than its capacity', () => {
    const cache = new BoundedCache<number>(3)
    for (let i = 0; i < 100; i += 1) {
      cache.set(`name ${i}`, i)
      expect(cache.size).toBeLessThanOrEqual(3)
    }
    expect(cache.get('name 99')).toBe(99)
    expect(cache.get('name 96')).toBeUndefined()
  })

  it('lets the least recently used entry go first', () => {
    const cache = new BoundedCache<number>(2)
    cache.set('a', 1)
    cache.set('b', 2)
    cache.get('a')
    cache.set('c', 3)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3])
  })

  it('lets nothing go when a held name is set again, as two concurrent imports of one key do', () => {
    const cache = new BoundedCache<number>(2)
    cache.set('a', 1)
    cache.set('b', 2)
    cache.set('b', 3)
    expect([cache.get('a'), cache.get('b'), cache.size]).toEqual([1, 3, 2])
  })
})

describe('cacheName', () => {
  it('differs for different keys', () => {
    const names = Array.from({ length: 256 }, (_, i) => cacheName(new Uint8Array(32).fill(i)))
    expect(new Set(names).size).toBe(256)
  })
})

describe('key cache', () => {
  const signature = new Uint8Array(64)
  const message = toUtf8('m')

  it('of node:crypto imports a key once, and again only after 10,000 others', async () => {
    const imports = vi.spyOn(process.getBuiltinModule('node:crypto'), 'createPublicKey')
    const first = randomBytes(32)
    for (let i = 0; i < 3; i += 1) await nodeCrypto.verify(first, message, signature)
    expect(imports).toHaveBeenCalledTimes(1)
    // Callers choose public keys: what they fill the cache with must leave again.
    for (let i = 0; i < KEY_CACHE_SIZE; i += 1) await nodeCrypto.verify(randomBytes(32), message, signature)
    await nodeCrypto.verify(first, message, signature)
    expect(imports).toHaveBeenCalledTimes(KEY_CACHE_SIZE + 2)
    imports.mockRestore()
  })

  it('of WebCrypto imports a key once, and again only after 10,000 others', async () => {
    const imports = vi.spyOn(globalThis.crypto.subtle, 'importKey')
    const first = (await webBackend.signer(randomBytes(32))).publicKey
    imports.mockClear()
    for (let i = 0; i < 3; i += 1) await webBackend.verify(first, message, signature)
    expect(imports).toHaveBeenCalledTimes(1)
    for (let i = 0; i < KEY_CACHE_SIZE; i += 1) await webBackend.verify(randomBytes(32), message, signature)
    await webBackend.verify(first, message, signature)
    expect(imports).toHaveBeenCalledTimes(KEY_CACHE_SIZE + 2)
    imports.mockRestore()
  })
})

describe('platform-node', () => {
  it('works with libsodium where it is installed, otherwise with node:crypto', () => {
    expect(inUse.name).toBe(findSodium() === undefined ? 'node:crypto' : 'libsodium')
  })
})

describe('libsodium', () => {
  const asked: string[] = []
  const note = <Value>(name: string, value: Value): Value => {
    asked.push(name)
    return value
  }
  const sodium = {
    crypto_sign_verify_detached: () => note('verify', true),
    crypto_sign_detached: (signature: Uint8Array) => void signature.fill(note('sign', 7)),
    crypto_sign_seed_keypair: (publicKey: Uint8Array) => void publicKey.fill(9),
    sodium_malloc: (bytes: number) => new Uint8Array(bytes),
    sodium_mprotect_readonly: () => note('protect', undefined),
  }
  const backend = withSodium(sodium, nodeCrypto)
  const [short, long] = [new Uint8Array(65_535), new Uint8Array(65_536)]

  it('verifies short messages; long ones and those set aside go to the thread pool', async () => {
    const { publicKey } = await nodeCrypto.signer(new Uint8Array(32).fill(1))
    asked.length = 0
    expect(await backend.verify(publicKey, short, new Uint8Array(64))).toBe(true)
    expect(asked).toEqual(['verify'])
    expect(await backend.verify(publicKey, long, new Uint8Array(64))).toBe(false)
    expect(await backend.verifyAside?.(publicKey, short, new Uint8Array(64))).toBe(false)
    expect(asked).toEqual(['verify'])
  })

  it('signs short messages from protected memory, long ones in the thread pool under the same key', async () => {
    asked.length = 0
    const seed = new Uint8Array(32).fill(1)
    const signer = await backend.signer(seed)
    expect(asked).toEqual(['protect'])
    expect(await signer.sign(short)).toEqual(new Uint8Array(64).fill(7))
    const signature = await signer.sign(long)
    expect(asked).toEqual(['protect', 'sign'])
    const { publicKey } = await nodeCrypto.signer(seed)
    expect(await nodeCrypto.verify(publicKey, long, signature)).toBe(true)
  })
})
