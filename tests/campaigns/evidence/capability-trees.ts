import {
  asJson,
  buildMerkleTree,
  membershipProofForm,
  merkleLeaf,
  proveMembership,
  readCapabilityCommitment,
  readInstant,
  readJson,
  readReceived,
  verifyDisclosure,
} from '@chancery/protocol'
import type { CapabilityMembershipProof, JsonObject } from '@chancery/protocol'
import { foreignCommitment, foreignSovereign, foreignTree, wireText } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

const NOW = readInstant('2030-01-01T00:00:00Z') ?? 0n
const SHOWN = 10
const issuer = foreignSovereign('ISSUER-NET')
const PIECES = ['ledger', '.', 'read', 'ü', '\ue000', '\u{1f600}', '0', ' ', 'A', 'a', '\u00e9', 'e\u0301'] as const

/**
 * Random sets of capabilities: root and path as another implementation builds them, no forgery holds.
 * One set with a valid proof and a forged one.
 */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  let violations = 0
  for (let at = 0; at < count; at += 1) {
    const problem = await tryOne(random)
    if (problem === undefined) continue
    violations += 1
    if (violations <= SHOWN) log(`case ${at}: ${problem}`)
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
  const verify = async (each: CapabilityMembershipProof): Promise<boolean> =>
    (await verifyDisclosure(each, commitment, [issuer.publicKey])).ok
  if (!(await verify(proof))) return 'a good proof is refused'
  const forged = forge(proof, capabilities, random)
  if (JSON.stringify(forged) === JSON.stringify(proof)) return undefined
  // Uses the strict reader, like for every received proof.
  const read = readReceived(membershipProofForm, asJson(forged)).record
  return (await verify(read)) ? `a forgery holds: ${JSON.stringify(forged)}` : undefined
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
