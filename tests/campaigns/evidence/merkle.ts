import { createHash, createPublicKey, verify } from 'node:crypto'
import {
  asJson,
  buildMerkleTree,
  consistencyProof,
  membershipProofForm,
  merkleLeaf,
  nodesFromTiles,
  proveMembership,
  readCapabilityCommitment,
  readInstant,
  readJson,
  readReceived,
  tilePath,
  verifyConsistency,
  verifyDisclosure,
} from '@chancery/protocol'
import type { CapabilityMembershipProof, JsonObject, NodeReader } from '@chancery/protocol'
import { foreignCommitment, foreignSovereign, foreignTree, startTestAuthority, wireText } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, runParts } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { EvidenceScenario, servedHere } from './scenario.ts'

const NOW = readInstant('2030-01-01T00:00:00Z') ?? 0n
const SHOWN_TREES = 10
const issuer = foreignSovereign('ISSUER-NET')
const PIECES = ['ledger', '.', 'read', 'ü', '\ue000', '\u{1f600}', '0', ' ', 'A', 'a', '\u00e9', 'e\u0301'] as const

/**
 * Random sets of capabilities: root and path as another implementation builds them, no forgery holds.
 * One set with a valid proof and a forged one.
 */
async function runCapabilities({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  let violations = 0
  for (let at = 0; at < count; at += 1) {
    const problem = await tryOne(random)
    if (problem === undefined) continue
    violations += 1
    if (violations <= SHOWN_TREES) log(`case ${at}: ${problem}`)
  }
  return { cases: count, violations }
}

async function tryOne(random: Random): Promise<string | undefined> {
  const capabilities = randomSet(random)
  const shown = capabilities[random.below(capabilities.length)] ?? ''
  const [tree, wanted] = [buildMerkleTree(capabilities), foreignTree(capabilities)]
  if (tree.root !== wanted.root) return `another root over ${JSON.stringify(capabilities)}`
  const path = wanted.pathOf(shown)
  if (JSON.stringify(tree.pathOf(shown)) !== JSON.stringify(path)) return `another path to ${JSON.stringify(shown)}`
  const foreign = readJson(wireText(foreignCommitment(issuer, NOW, capabilities))) as JsonObject
  const commitment = readCapabilityCommitment(foreign)
  const named = { proof_id: 'p', prover_sovereign_id: 'x', now: NOW }
  const proof = proveMembership({ capability: shown, capabilities, commitment: commitment.record, ...named })
  if (proof === undefined) return 'nothing could be proved'
  const holds = async (each: CapabilityMembershipProof): Promise<boolean> =>
    (await verifyDisclosure(each, commitment, [issuer.publicKey])).ok
  if (!(await holds(proof))) return 'a good proof is refused'
  const forged = forge(proof, capabilities, random)
  if (JSON.stringify(forged) === JSON.stringify(proof)) return undefined
  // Uses the strict reader, like for every received proof.
  const read = readReceived(membershipProofForm, asJson(forged)).record
  return (await holds(read)) ? `a forgery holds: ${JSON.stringify(forged)}` : undefined
}

/** One to forty different texts. */
function randomSet(random: Random): readonly string[] {
  const size = 1 + random.below(random.chance(20) ? 40 : 6)
  const found = new Set<string>()
  while (found.size < size) {
    const length = 1 + random.below(5)
    found.add(Array.from({ length }, () => random.pick(PIECES)).join('') + String(random.below(50)))
  }
  return [...found]
}

/** Forgeries that need no secret hash: another member, another position, another tree. */
function forge(
  proof: CapabilityMembershipProof,
  capabilities: readonly string[],
  random: Random,
): CapabilityMembershipProof {
  const { merkle_path: path } = proof
  const step = random.below(Math.max(1, path.length))
  const changed = (change: (at: (typeof path)[number]) => (typeof path)[number]): CapabilityMembershipProof => ({
    ...proof,
    merkle_path: path.map((each, index) => (index === step ? change(each) : each)),
  })
  const claimed = random.chance(50) ? 'vault.open' : (capabilities[random.below(capabilities.length)] ?? '')
  switch (random.below(9)) {
    case 0:
      // Another capability with the same path, with or without its own hash.
      return { ...proof, revealed_capability: claimed }
    case 1:
      return claimed === proof.revealed_capability
        ? proof
        : { ...proof, revealed_capability: claimed, leaf_hash: merkleLeaf(claimed) }
    case 2:
      return changed((each) => ({ ...each, is_left: !each.is_left }))
    case 3:
      return changed((each) => ({ ...each, sibling_hash: flip(each.sibling_hash, random) }))
    case 4:
      return { ...proof, merkle_path: path.slice(1) }
    case 5:
      return { ...proof, merkle_path: [...path, { sibling_hash: merkleLeaf(''), is_left: random.chance(50) }] }
    case 6:
      // The leaf that pads every tree.
      return { ...proof, revealed_capability: '', leaf_hash: merkleLeaf('') }
    case 7:
      return { ...proof, leaf_hash: flip(proof.leaf_hash, random) }
    default:
      return { ...proof, commitment_id: 'another' }
  }
}

function flip(hex: string, random: Random): string {
  const at = random.below(hex.length)
  const digit = (Number.parseInt(hex.charAt(at), 16) ^ (1 + random.below(15))).toString(16)
  return hex.slice(0, at) + digit + hex.slice(at + 1)
}

const SHOWN = 10

/** A signed checkpoint as a witness stores it. */
interface Seen {
  readonly size: number
  readonly root: Buffer
}

/** Checkpoints of a growing log: each root, signature and every proof between two of them by another implementation. */
async function runLog({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const na = await startTestAuthority({
    backend: 'sqlite',
    settings: { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' },
  })
  const violations: string[] = []
  const expect = (isTrue: boolean, sentence: () => string): void => {
    if (!isTrue) violations.push(sentence())
  }
  let pairs = 0
  try {
    const seen = await growAndWatch(na, count, seed)
    const leaves = await readLeaves(na)
    const tree = new Tree(leaves)
    for (const { size, root } of seen) expect(tree.root(0, size).equals(root), () => `another root at ${size}`)
    const read = storedNodes(na, leaves.length)
    for (const [at, older] of seen.entries()) {
      for (const newer of seen.slice(at + 1)) {
        pairs += 1
        const proof = (await consistencyProof(older.size, newer.size, read)).map((hash) => Buffer.from(hash))
        expect(proves(older, newer, proof), () => `${older.size} is not proved to be in ${newer.size}`)
        if (pairs % 50 !== 0) continue
        // A witness with another history: neither implementation accepts the proof for it.
        const forked = { ...older, root: createHash('sha256').update(older.root).digest() }
        const facts = { older: forked.size, newer: newer.size, olderRoot: forked.root, newerRoot: newer.root, proof }
        expect(!proves(forked, newer, proof) && !verifyConsistency(facts), () => `a fork at ${older.size} passes`)
      }
    }
  } finally {
    await na.stop()
  }
  for (const violation of violations.slice(0, SHOWN)) log(`violation: ${violation}`)
  log(`${count} checkpoints, ${pairs} pairs`)
  return { cases: count, violations: violations.length }
}

/** Adds a few entries at a time, and returns every published checkpoint. */
async function growAndWatch(na: TestAuthority, count: number, seed: number): Promise<readonly Seen[]> {
  const random = seededRandom(seed)
  const scenario = await EvidenceScenario.open(servedHere(na))
  const seen: Seen[] = []
  while (seen.length < count) {
    // Two entries each.
    await Promise.all(Array.from({ length: 1 + random.below(4) }, () => scenario.decide()))
    await na.features.evidenceLog.append()
    const found = readCheckpoint((await na.request('GET', '/evidence-log/checkpoint')).text, na)
    if (found.size !== seen.at(-1)?.size) seen.push(found)
  }
  return seen
}

/** Origin, size, root, an empty line, then the signature line: "— name base64(key hash, signature)". */
function readCheckpoint(note: string, na: TestAuthority): Seen {
  const [text = '', signed = ''] = note.split('\n\n')
  const [, size, root] = text.split('\n')
  const blob = Buffer.from(/^— \S+ (\S+)\n$/.exec(signed)?.[1] ?? '', 'base64')
  const x = Buffer.from(na.genesis.network_authority.public_key, 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  if (!verify(null, Buffer.from(`${text}\n`), key, blob.subarray(4))) throw new Error(`invalid signature of ${note}`)
  return { size: Number(size), root: Buffer.from(root ?? '', 'base64') }
}

/** Returns the digests of all entries from the text of the export. */
async function readLeaves(na: TestAuthority): Promise<readonly Buffer[]> {
  const leaves: Buffer[] = []
  for (;;) {
    const page = await na.as('privileged')('GET', `/admin/evidence/export?since_sequence=${leaves.length}`)
    const lines = page.text.split('\n').slice(0, -1)
    for (const line of lines) {
      const entry = line.slice('{"entry":'.length, line.indexOf(',"entry_digest":"'))
      leaves.push(createHash('sha256').update(entry).digest())
    }
    if (lines.length === 0) return leaves
  }
}

/** Reads nodes from the tiles that the product serves, each tile once. */
function storedNodes(na: TestAuthority, size: number): NodeReader {
  const nodes = nodesFromTiles(size, async (name) => {
    const response = await fetch(`${na.url}/evidence-log/tile/${tilePath(name)}`)
    return new Uint8Array(await response.arrayBuffer())
  })
  const stored = new Map<string, Promise<Uint8Array>>()
  return (level, index) => {
    const name = `${level}/${index}`
    const known = stored.get(name) ?? nodes(level, index)
    stored.set(name, known)
    return known
  }
}

function sha(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** MTH of RFC 6962, section 2.1, as defined there. Complete subtrees are cached. */
class Tree {
  readonly #leaves: readonly Buffer[]
  readonly #known = new Map<string, Buffer>()

  constructor(leaves: readonly Buffer[]) {
    this.#leaves = leaves
  }

  root(start: number, end: number): Buffer {
    const name = `${start}-${end}`
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const width = end - start
    if (width === 0) return sha()
    const split = start + splitOf(width)
    const made =
      width === 1
        ? sha(Uint8Array.of(0), this.#leaves[start] ?? Buffer.alloc(0))
        : sha(Uint8Array.of(1), this.root(start, split), this.root(split, end))
    if (Number.isInteger(Math.log2(width))) this.#known.set(name, made)
    return made
  }
}

/** Returns the largest power of two smaller than a width of two or more. */
function splitOf(width: number): number {
  let power = 1
  while (power * 2 < width) power *= 2
  return power
}

/**
 * PROOF(m, D[n]) of RFC 6962, section 2.1.2, as defined there: down the tree and back up, with the hashes in that
 * order. The product uses another algorithm, by the bits of the sizes.
 */
function proves(older: Seen, newer: Seen, proof: readonly Buffer[]): boolean {
  const rest = [...proof]
  const take = (): Buffer => rest.shift() ?? Buffer.alloc(0)
  const walk = (m: number, n: number, isWhole: boolean): readonly [Buffer, Buffer] => {
    if (m === n) {
      const both = isWhole ? older.root : take()
      return [both, both]
    }
    const k = splitOf(n)
    if (m <= k) {
      const [old, young] = walk(m, k, isWhole)
      return [old, sha(Uint8Array.of(1), young, take())]
    }
    const [old, young] = walk(m - k, n - k, false)
    const left = take()
    return [sha(Uint8Array.of(1), left, old), sha(Uint8Array.of(1), left, young)]
  }
  const [old, young] = walk(older.size, newer.size, true)
  return rest.length === 0 && old.equals(older.root) && young.equals(newer.root)
}

export const summary =
  'trees of capabilities and of the evidence log (--case capabilities or log): as another implementation builds them, no forgery holds'
export const defaultCount = 100_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'capabilities', percent: 99, run: runCapabilities },
    { name: 'log', percent: 1, run: runLog },
  ])
}
