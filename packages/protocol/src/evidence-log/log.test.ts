import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { sha256, sha256Hex, toHex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { seedSigner, verifySignature } from '../signing/keys.ts'
import {
  checkpointText,
  cosignNote,
  cosignedAt,
  logOrigin,
  openCheckpoint,
  readCheckpointText,
  readNote,
  signCheckpoint,
  writeNote,
  readWitnessKey,
  writeWitnessKey,
} from './note.ts'
import { type TileReader, nodesFromTiles, readIndexPath, readTilePath, tilePath, widthInTree } from './tiles.ts'
import { consistencyProof, hashLeaf, inclusionProof, treeRoot, verifyConsistency, verifyInclusion } from './tree.ts'

// The definitions of RFC 6962 section 2.1, written down a second time over plain lists of leaves.
const sha = (...parts: readonly Uint8Array[]): Uint8Array => sha256(Uint8Array.from(parts.flatMap((part) => [...part])))
const split = (count: number): number => {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}
function mth(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves
  if (first === undefined) return sha()
  if (leaves.length === 1) return sha(Uint8Array.of(0), first)
  const k = split(leaves.length)
  return sha(Uint8Array.of(1), mth(leaves.slice(0, k)), mth(leaves.slice(k)))
}
function path(m: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (leaves.length === 1) return []
  const k = split(leaves.length)
  if (m < k) return [...path(m, leaves.slice(0, k)), mth(leaves.slice(k))]
  return [...path(m - k, leaves.slice(k)), mth(leaves.slice(0, k))]
}
function subproof(m: number, leaves: readonly Uint8Array[], whole: boolean): Uint8Array[] {
  if (m === leaves.length) return whole ? [] : [mth(leaves)]
  const k = split(leaves.length)
  if (m <= k) return [...subproof(m, leaves.slice(0, k), whole), mth(leaves.slice(k))]
  return [...subproof(m - k, leaves.slice(k), false), mth(leaves.slice(0, k))]
}

const leaf = (n: number): Uint8Array => sha256(toUtf8(`leaf ${n}`))
const LEAVES = Array.from({ length: 600 }, (_, n) => leaf(n))

/** Tiles built the obvious way: every level from the hashes of the one below. */
function tilesOf(leaves: readonly Uint8Array[]): TileReader {
  const levels: Uint8Array[][] = [leaves.map((each) => sha(Uint8Array.of(0), each))]
  while ((levels.at(-1)?.length ?? 0) >= 256) {
    const below = levels.at(-1) ?? []
    const next: Uint8Array[] = []
    for (let at = 0; at + 256 <= below.length; at += 256) {
      let row = below.slice(at, at + 256)
      while (row.length > 1)
        row = row.flatMap((hash, n) => (n % 2 === 0 ? [sha(Uint8Array.of(1), hash, row[n + 1] ?? hash)] : []))
      next.push(...row)
    }
    levels.push(next)
  }
  return async ({ level, tile, width }) =>
    Uint8Array.from((levels[level] ?? []).slice(tile * 256, tile * 256 + width).flatMap((hash) => [...hash]))
}
const hex = (hashes: readonly Uint8Array[]): string[] => hashes.map(toHex)
const read = (size: number) => nodesFromTiles(size, tilesOf(LEAVES.slice(0, size)))

describe('the tree', () => {
  it('of nothing has the hash of nothing, and a leaf is prefixed with zero', async () => {
    expect(toHex(await treeRoot(0, read(0)))).toBe(sha256Hex(''))
    expect(toHex(hashLeaf(new Uint8Array()))).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
  })

  it.each([1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513, 600])('has the root of RFC 6962 at size %i', async (size) => {
    expect(toHex(await treeRoot(size, read(size)))).toBe(toHex(mth(LEAVES.slice(0, size))))
  })

  it.each([1, 2, 5, 256, 300, 600])('proves that leaves are in it at size %i', async (size) => {
    const [nodes, root] = [read(size), mth(LEAVES.slice(0, size))]
    for (const index of [0, 1, Math.floor(size / 2), size - 1].filter((each) => each < size)) {
      const proof = await inclusionProof(index, size, nodes)
      expect(hex(proof)).toEqual(hex(path(index, LEAVES.slice(0, size))))
      const facts = { index, size, leafHash: hashLeaf(leaf(index)), root, proof }
      expect(verifyInclusion(facts)).toBe(true)
      expect(verifyInclusion({ ...facts, leafHash: hashLeaf(leaf(index + 1)) })).toBe(false)
      expect(verifyInclusion({ ...facts, proof: [...proof, root] })).toBe(false)
      if (proof.length > 0) expect(verifyInclusion({ ...facts, proof: proof.slice(1) })).toBe(false)
      if (size > 1) expect(verifyInclusion({ ...facts, index: (index + 1) % size })).toBe(false)
    }
  })

  it('proves that it only grew, for many pairs, and not otherwise', async () => {
    const sizes = [1, 2, 3, 4, 6, 7, 8, 100, 255, 256, 257, 300, 511, 512, 599, 600]
    const forked = mth([...LEAVES.slice(0, 50), leaf(9999), ...LEAVES.slice(51)])
    for (const newer of sizes) {
      const [nodes, newerRoot] = [read(newer), mth(LEAVES.slice(0, newer))]
      for (const older of sizes.filter((each) => each <= newer)) {
        const proof = await consistencyProof(older, newer, nodes)
        const all = LEAVES.slice(0, newer)
        expect(hex(proof)).toEqual(hex(older === newer ? [] : subproof(older, all, true)))
        const facts = { older, newer, olderRoot: mth(LEAVES.slice(0, older)), newerRoot, proof }
        expect(verifyConsistency(facts), `${older} to ${newer}`).toBe(true)
        expect(verifyConsistency({ ...facts, newerRoot: forked })).toBe(false)
        expect(verifyConsistency({ ...facts, olderRoot: forked })).toBe(false)
        expect(verifyConsistency({ ...facts, proof: [...proof, forked] })).toBe(false)
        if (proof.length > 0) expect(verifyConsistency({ ...facts, proof: proof.slice(0, -1) })).toBe(false)
      }
    }
    expect(
      verifyConsistency({ older: 0, newer: 3, olderRoot: sha(), newerRoot: mth(LEAVES.slice(0, 3)), proof: [] }),
    ).toBe(true)
    expect(verifyConsistency({ older: 4, newer: 3, olderRoot: sha(), newerRoot: sha(), proof: [] })).toBe(false)
  })
})

describe('tile paths', () => {
  it.each([
    [{ level: 0, tile: 0, width: 256 }, '0/000'],
    [{ level: 0, tile: 1_234_067, width: 256 }, '0/x001/x234/067'],
    [{ level: 2, tile: 1000, width: 5 }, '2/x001/000.p/5'],
  ])('%j is %s', (name, text) => {
    expect(tilePath(name)).toBe(text)
    expect(readTilePath(text)).toEqual(name)
  })

  it.each([
    '0/0',
    '0/x000/001',
    '0/000.p/0',
    '0/000.p/256',
    '0/000.p/300',
    '00/000',
    '0/x001',
    '-1/000',
    '0/000/',
    '100/000',
  ])('refuses %s', (text) => {
    expect(readTilePath(text)).toBeUndefined()
  })

  it('knows how much of a tile exists', () => {
    expect(readIndexPath('x001/001.p/7')).toEqual({ tile: 1001, width: 7 })
    expect([widthInTree(0, 0, 0), widthInTree(255, 0, 0), widthInTree(256, 0, 0), widthInTree(257, 0, 1)]).toEqual([
      0, 255, 256, 1,
    ])
    expect([widthInTree(65_535, 1, 0), widthInTree(65_536, 1, 0), widthInTree(65_536, 2, 0)]).toEqual([255, 256, 1])
  })
})

describe('notes', () => {
  const origin = logOrigin('acme net+1')
  const checkpoint = { origin, size: 600, root: new Uint8Array(mth(LEAVES)) }

  it('carry a checkpoint, signed under the name of the log', async () => {
    const key = await seedSigner('na', toBase64(new Uint8Array(32).fill(7)))
    const note = await signCheckpoint(checkpoint, key)
    expect(origin).toBe('chancery-evidence-log/acme%20net%2B1')
    expect(note.startsWith(`${origin}\n600\n${toBase64(checkpoint.root)}\n\n\u2014 ${origin} `)).toBe(true)
    expect(await openCheckpoint(note, origin, key.publicKey)).toEqual(checkpoint)
    const other = await seedSigner('x', toBase64(new Uint8Array(32).fill(8)))
    expect(await openCheckpoint(note, origin, other.publicKey)).toBeUndefined()
    expect(await openCheckpoint(note.replace('600', '601'), origin, key.publicKey)).toBeUndefined()
    expect(await openCheckpoint(note, logOrigin('other'), key.publicKey)).toBeUndefined()
    // By hand: four bytes of key hash, then an ordinary signature over the text.
    const line = note.split(' ').at(-1) ?? ''
    const bytes = Uint8Array.from(atob(line.trim()), (unit) => unit.charCodeAt(0))
    expect(await verifySignature(key.publicKey, toUtf8(checkpointText(checkpoint)), toBase64(bytes.slice(4)))).toBe(
      true,
    )
  })

  it('take the word of a witness with the time it saw them', async () => {
    const key = await seedSigner('na', toBase64(new Uint8Array(32).fill(7)))
    const witness = await seedSigner('witness.example', toBase64(new Uint8Array(32).fill(9)))
    const note = readNote(await signCheckpoint(checkpoint, key))
    if (note === undefined) throw new Error('a note is read')
    const cosigned = readNote(writeNote(await cosignNote(note, witness, 1_700_000_000)))
    if (cosigned === undefined) throw new Error('a note is read')
    expect(await cosignedAt(cosigned, 'witness.example', witness.publicKey)).toBe(1_700_000_000)
    expect(await cosignedAt(cosigned, 'witness.example', key.publicKey)).toBeUndefined()
    expect(await cosignedAt(note, 'witness.example', witness.publicKey)).toBeUndefined()
    expect(await openCheckpoint(writeNote(cosigned), origin, key.publicKey)).toEqual(checkpoint)
  })

  it('write and read the verifier key of a witness, and refuse any other spelling', async () => {
    const { publicKey } = await seedSigner('witness.example', toBase64(new Uint8Array(32).fill(9)))
    const text = writeWitnessKey({ name: 'witness.example', publicKey })
    expect(text).toMatch(/^witness\.example\+[0-9a-f]{8}\+B[A-Za-z0-9+/]{43}$/)
    expect(readWitnessKey(text)).toEqual({ name: 'witness.example', publicKey })
    const other = text.replace('witness', 'witnesx')
    for (const wrong of ['', text.slice(1), `${text}=`, text.replace('+B', '+A'), text.toUpperCase(), other])
      expect(readWitnessKey(wrong), wrong).toBeUndefined()
  })

  it.each(['', 'x', 'a\n1\nb\n', 'a\n1\nb\n\nno dash\n', 'a\n\n\u2014 name !!\n'])(
    'refuse what is none: %j',
    (text) => {
      expect(readNote(text)).toBeUndefined()
    },
  )

  it.each(['', '\n1\nAAAA\n', 'o\n01\nAAAA\n', 'o\n1\nAAAA\n'])('hold no checkpoint: %j', (text) => {
    expect(readCheckpointText(text)).toBeUndefined()
  })

  it('hold no size above the largest whole number that is exact', () => {
    const textOf = (size: string): string => `o\n${size}\n${'A'.repeat(43)}=\n`
    expect(readCheckpointText(textOf('9007199254740991'))?.size).toBe(Number.MAX_SAFE_INTEGER)
    for (const size of ['9007199254740992', '9007199254740993'])
      expect(readCheckpointText(textOf(size))).toBeUndefined()
  })
})
