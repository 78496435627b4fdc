import { createHash, createPublicKey, verify } from 'node:crypto'
import { Tagged, decode, encode } from 'cborg'
import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { fromHex, sha256, toHex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type Cbor, readCbor, writeCbor } from './cbor.ts'
import { coseThumbprint, readReceipt, signReceipt, verifyReceipt } from './receipt.ts'
import { leaves, nodes, signer } from './small-tree.suite.ts'
import { inclusionProof, readTlogProof, treeRoot, writeTlogProof } from './tree.ts'

describe('.tlog-proof', () => {
  it('is written and read in the published form', () => {
    const proof = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    const text = writeTlogProof({
      extra: toUtf8('{}'),
      index: 7,
      proof,
      checkpoint: 'o\n9\nAA==\n\n\u2014 o AAAAAAA=\n',
    })
    expect(text.split('\n').slice(0, 6)).toEqual([
      'c2sp.org/tlog-proof@v1',
      'extra e30=',
      'index 7',
      'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      'AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=',
      '',
    ])
    const read = readTlogProof(text)
    expect(read === undefined ? undefined : writeTlogProof(read)).toBe(text)
    expect(readTlogProof(text.replace('extra e30=\n', ''))?.extra).toBeUndefined()
    for (const wrong of [
      '',
      text.replace('@v1', '@v2'),
      text.replace('index 7', 'index 07'),
      text.replace('e30=', 'e30'),
    ])
      expect(readTlogProof(wrong), wrong).toBeUndefined()
  })
})

/** Reads maps with number keys, which is an option of cborg. */
const second = (bytes: Uint8Array): unknown => decode(bytes, { strict: true, useMaps: true, tags: Tagged.preserve(18) })

describe('COSE receipts', () => {
  const subject = 'urn:chancery:decision:d-1'

  async function receipt() {
    const [key, all] = [await signer('log', 5), leaves(7)]
    const root = await treeRoot(7, nodes(all))
    const proof = await inclusionProof(4, 7, nodes(all))
    const facts = { issuer: 'na.example.org/evidence-log', subject, size: 7, index: 4, proof }
    return { key, root, proof, leafHash: all[4] ?? new Uint8Array(), bytes: await signReceipt(facts, root, key) }
  }

  it('are read by cborg and verified by the platform, without our code', async () => {
    const { key, root, proof, bytes } = await receipt()
    const outer = second(bytes) as { tag: number; value: [Uint8Array, Map<number, unknown>, null, Uint8Array] }
    expect(outer.tag).toBe(18)
    const [header, open, payload, signature] = outer.value
    expect(payload).toBeNull()
    const head = second(header) as Map<number, unknown>
    expect([...head.keys()]).toEqual([1, 4, 15, 395])
    expect([head.get(1), head.get(395)]).toEqual([-8, 1])
    expect(head.get(15)).toEqual(
      new Map([
        [1, 'na.example.org/evidence-log'],
        [2, subject],
      ]),
    )
    const inclusion = (open.get(396) as Map<number, Uint8Array[]>).get(-1)?.[0] ?? new Uint8Array()
    expect(second(inclusion)).toEqual([7, 4, proof.map((hash) => Uint8Array.from(hash))])
    const message = encode(['Signature1', header, new Uint8Array(), root])
    const x = Buffer.from(key.publicKey, 'base64').toString('base64url')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    expect(verify(null, message, publicKey, signature)).toBe(true)
    expect(verify(null, encode(['Signature1', header, new Uint8Array(), sha256(root)]), publicKey, signature)).toBe(
      false,
    )
    // RFC 9679: the thumbprint is the digest of the required members in their deterministic form.
    const cose = encode(
      new Map<number, number | Uint8Array>([
        [1, 1],
        [-1, 6],
        [-2, Buffer.from(key.publicKey, 'base64')],
      ]),
    )
    expect(Buffer.from(head.get(4) as Uint8Array).equals(createHash('sha256').update(cose).digest())).toBe(true)
  })

  it('hold for their leaf and key only, and any changed byte is detected', async () => {
    const { key, leafHash, bytes } = await receipt()
    const read = readReceipt(bytes)
    if (read === undefined) throw new Error('a receipt is read')
    expect([read.subject, read.size, read.index]).toEqual([subject, 7, 4])
    expect(await verifyReceipt(read, leafHash, key.publicKey)).toBe(true)
    expect(await verifyReceipt(read, sha256(leafHash), key.publicKey)).toBe(false)
    expect(await verifyReceipt(read, leafHash, (await signer('x', 6)).publicKey)).toBe(false)
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Uint8Array.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
      const found = readReceipt(changed)
      expect(found !== undefined && (await verifyReceipt(found, leafHash, key.publicKey)), `byte ${at}`).toBe(false)
    }
    expect(readReceipt(bytes.slice(0, -1))).toBeUndefined()
    expect(readReceipt(Uint8Array.from([...bytes, 0]))).toBeUndefined()
  })

  it('do not exist for a log of one entry', async () => {
    const key = await signer('log', 5)
    const facts = { issuer: 'o', subject, size: 1, index: 0, proof: [] }
    await expect(signReceipt(facts, new Uint8Array(32), key)).rejects.toThrow(RangeError)
  })

  it('have a signed text whose first byte begins no record, note or request proof', () => {
    expect(toHex(writeCbor(['Signature1', new Uint8Array(), new Uint8Array(), new Uint8Array(32)])).slice(0, 2)).toBe(
      '84',
    )
    expect(coseThumbprint(toBase64(new Uint8Array(32).fill(1))).length).toBe(32)
  })

  it('our CBOR is that of cborg, and only its deterministic form is read', () => {
    const values: readonly Cbor[] = [
      0,
      23,
      24,
      255,
      256,
      65_535,
      65_536,
      2 ** 32 - 1,
      2 ** 32,
      Number.MAX_SAFE_INTEGER,
      -1,
      -24,
      -25,
      -257,
      -65_537,
      '',
      'ü\u{1f600}',
      new Uint8Array(),
      new Uint8Array(300).fill(9),
      null,
      [],
      [1, [2, 'x']],
      new Map<number, Cbor>(),
    ]
    for (const value of values) {
      const bytes = writeCbor(value)
      expect(toHex(bytes), String(value)).toBe(toHex(encode(value)))
      expect(second(bytes)).toEqual(value)
      expect(readCbor(bytes)).toEqual(value)
    }
    const map = new Map<number, Cbor>([
      [-1, 1],
      [396, 2],
      [1, 3],
      [24, 4],
    ])
    // In the order of the bytes of the keys: 01, 18 18, 19 01 8c, 20.
    expect(toHex(writeCbor(map))).toBe('a4010318180419018c022001')
    // Not shortest, an open length, another key order, a key twice, a float, true, cut off.
    for (const wrong of [
      '1800',
      '190017',
      '9f01ff',
      'a220010103',
      'a201010102',
      'fb3ff0000000000000',
      'f5',
      '8201',
      '5f4100ff',
    ])
      expect(readCbor(fromHex(wrong) ?? new Uint8Array()), wrong).toBeUndefined()
  })
})
