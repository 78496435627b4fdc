import { beforeAll, describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { JsonFloat, type JsonObject, fromUtf8 } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { signList, signOnce, signedBytes, verifyEvery, verifyList, verifyOnce } from './verify-any.ts'
import { type Signer, seedSigner } from './keys.ts'

let alice: Signer
let bob: Signer

beforeAll(async () => {
  alice = await seedSigner('alice', toBase64(new Uint8Array(32).fill(1)))
  bob = await seedSigner('bob', toBase64(new Uint8Array(32).fill(2)))
})

const draft = { name: 'x', limit: new JsonFloat(90), nested: { b: 1, a: [] } }

describe('signedBytes', () => {
  it('leave out the signature member at the top only', () => {
    const record = { signatures: [], inner: { signatures: [1] }, signature: 'kept' }
    expect(fromUtf8(signedBytes(record, 'signatures'))).toBe('{"inner":{"signatures":[1]},"signature":"kept"}')
    expect(fromUtf8(signedBytes(record, 'signature'))).toBe('{"inner":{"signatures":[1]},"signatures":[]}')
  })

  it('cover members with prototype names', () => {
    const record = readJson('{"__proto__":{"admin":true},"signatures":[],"toString":1}') as JsonObject
    expect(fromUtf8(signedBytes(record, 'signatures'))).toBe('{"__proto__":{"admin":true},"toString":1}')
  })
})

describe('signList', () => {
  it('appends, keeps earlier signatures and lets each verify', async () => {
    const once = await signList(draft, alice)
    const twice = await signList({ ...once, signatures: [...once.signatures] }, bob)
    expect(twice.signatures.map(({ key_id }) => key_id)).toEqual(['alice', 'bob'])
    expect(await verifyList(twice, [alice.publicKey])).toBe(true)
    expect(await verifyList(twice, [bob.publicKey])).toBe(true)
  })

  it('gives the same signature whatever the order of members', async () => {
    const { limit, name, nested } = draft
    expect((await signList({ nested, limit, name }, alice)).signatures).toEqual(
      (await signList(draft, alice)).signatures,
    )
  })
})

describe('verifyList', () => {
  it('refuses any change to the record', async () => {
    const record = await signList(draft, alice)
    const keys = [alice.publicKey]
    expect(await verifyList({ ...record, name: 'y' }, keys)).toBe(false)
    expect(await verifyList({ ...record, limit: 90 }, keys)).toBe(false)
    const { nested: _removed, ...less } = record
    expect(await verifyList(less, keys)).toBe(false)
    const added: JsonObject & { signatures: typeof record.signatures } = { ...record, added: null }
    expect(await verifyList(added, keys)).toBe(false)
  })

  it('lets a key id select nothing: only accepted keys count', async () => {
    const record = await signList(draft, alice)
    const relabelled = { ...record, signatures: [{ ...record.signatures[0], key_id: 'bob' }] }
    expect(await verifyList(relabelled as typeof record, [bob.publicKey])).toBe(false)
    expect(await verifyList(relabelled as typeof record, [alice.publicKey])).toBe(true)
  })

  it('refuses without signatures and without keys', async () => {
    const record = await signList(draft, alice)
    expect(await verifyList({ ...record, signatures: [] }, [alice.publicKey])).toBe(false)
    expect(await verifyList(record, [])).toBe(false)
  })
})

describe('verifyEvery', () => {
  it('needs at least one signature and no foreign one', async () => {
    const record = await signList(draft, alice)
    const mixed = { ...record, signatures: [...record.signatures, ...(await signList(draft, bob)).signatures] }
    expect(await verifyEvery(record, alice.publicKey)).toBe(true)
    expect(await verifyEvery(mixed, alice.publicKey)).toBe(false)
    expect(await verifyEvery({ ...record, signatures: [] }, alice.publicKey)).toBe(false)
  })
})

describe('signOnce', () => {
  it('fills the single signature, under another key id where the record asks for one', async () => {
    const record = await signOnce({ ...draft, signature: null }, alice, 'other')
    expect(record.signature.key_id).toBe('other')
    expect(await verifyOnce(record, [bob.publicKey, alice.publicKey])).toBe(true)
    expect(await verifyOnce(record, [bob.publicKey])).toBe(false)
    expect(await verifyOnce({ ...record, name: 'y' }, [alice.publicKey])).toBe(false)
    expect(await verifyOnce({ ...record, signature: null }, [alice.publicKey])).toBe(false)
  })
})
