import { fromHex, sha256, toHex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type MerkleTree, type NodeHash, treeOver } from './merkle.ts'

/** On every verdict about a commitment or proof of the founding form (protocol/trust-operations 7.6). */
export const UNSALTED = 'unsalted: hidden names can be guessed'

/** From so many random bytes all salts of a commitment are derived. Anyone who has them can guess names. */
export const SEED_BYTES = 32
const SALT_BYTES = 16
/** Fewer leaves would show that only one or two capabilities are committed to. */
const LEAST_LEAVES = 4

/**
 * What is hashed, after its domain. No domain is the beginning of another, so what is hashed as one is never read as
 * another: a node is no leaf, and the salt of one leaf says nothing about the others.
 */
function hashAs(domain: 'leaf' | 'node' | 'salt' | 'padding', ...parts: readonly Uint8Array[]): Uint8Array {
  const all = [toUtf8(`chancery/disclosure/${domain}/v1\u0000`), ...parts]
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of all) {
    whole.set(part, at)
    at += part.length
  }
  return sha256(whole)
}

/** The salt of one capability, in hexadecimal digits. Only that of the revealed one goes into a proof. */
export function saltOf(seed: string, capability: string): string {
  return toHex(hashAs('salt', bytesOf(seed, SEED_BYTES), toUtf8(capability)).subarray(0, SALT_BYTES))
}

/** SHA-256 of domain, salt and name. */
export function saltedLeaf(salt: string, capability: string): string {
  return toHex(hashAs('leaf', bytesOf(salt, SALT_BYTES), toUtf8(capability)))
}

export const saltedNode: NodeHash = (left, right) => hashAs('node', left, right)

/** The number of leaves over so many capabilities: a power of two, because the exact number is not shown. */
export function saltedLeafCount(capabilities: number): number {
  let count = LEAST_LEAVES
  while (count < capabilities) count *= 2
  return count
}

/**
 * The salted tree over distinct capabilities (protocol/trust-operations 7.6). Leaves are sorted by their hash, which
 * the salt makes random: neither the place of the revealed one nor a sibling says which names are hidden, or whether a
 * leaf is padding.
 */
export function buildSaltedTree(capabilities: readonly string[], seed: string): MerkleTree {
  if (capabilities.length === 0) throw new RangeError('a tree has at least one capability')
  const named = capabilities.map((name) => ({ name, leaf: saltedLeaf(saltOf(seed, name), name) }))
  const padding = Array.from({ length: saltedLeafCount(named.length) - named.length }, (_, index) => ({
    name: undefined,
    leaf: toHex(hashAs('padding', bytesOf(seed, SEED_BYTES), toUtf8(String(index)))),
  }))
  const leaves = [...named, ...padding].sort((a, b) => (a.leaf < b.leaf ? -1 : 1))
  const positions = new Map(leaves.flatMap(({ name }, index) => (name === undefined ? [] : [[name, index] as const])))
  return treeOver(
    leaves.map(({ leaf }) => bytesOf(leaf, SEED_BYTES)),
    positions,
    saltedNode,
  )
}

function bytesOf(text: string, length: number): Uint8Array {
  const bytes = fromHex(text)
  if (bytes?.length !== length) throw new RangeError(`${length} bytes in lowercase hexadecimal digits are needed`)
  return bytes
}
