import { readConsensusProof, readInstant, readJson, verifyConsensusProof, writeInstant } from '@chancery/protocol'
import { foreignConsensus, foreignSovereign, foreignVote, wireText } from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary = 'random sets of votes: the verdict is the one a plain reading of the rules gives'
export const defaultCount = 100_000

const NOW = readInstant('2030-01-01T00:00:00Z') ?? 0n
const ABOUT = { proof_id: 'proof-1', decision_id: 'decision-1' }
const SHOWN = 10
const assembler = foreignSovereign('ASSEMBLER-NET')
const stranger = foreignSovereign('STRANGER-NET')
const validators = ['v0-net', 'v1-net', 'v2-net', 'v3-net'].map((name) => foreignSovereign(name))

/** Random input of one vote; the model uses nothing else. */
interface VoteFacts {
  readonly validator: number
  readonly approves: boolean
  readonly signed: 'well' | 'by another' | 'not'
  readonly isAboutAnother: boolean
  readonly context: string | null
  readonly seconds: number
}

interface ProofFacts {
  readonly votes: readonly VoteFacts[]
  readonly named: readonly number[]
  /** Validators whose key the verifier has. */
  readonly known: readonly number[]
  readonly threshold: number
  readonly assembled: 'well' | 'by another' | 'not'
  readonly isOver: boolean
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const seen = new Map<string, number>()
  let violations = 0
  for (let at = 0; at < count; at += 1) {
    const facts = throwDice(random)
    const [expected, said] = [expectedReason(facts), await reasonOf(facts)]
    seen.set(said, (seen.get(said) ?? 0) + 1)
    if (said === expected) continue
    violations += 1
    if (violations <= SHOWN) log(`case ${at}: ${said} instead of ${expected}: ${JSON.stringify(facts)}`)
  }
  log(`reasons: ${[...seen].map(([reason, times]) => `${reason} ${times}`).join(', ')}`)
  return { cases: count, violations }
}

/** Mostly valid parts, so that the later reasons are also reached. */
function throwDice(random: Random): ProofFacts {
  const some = (percent: number): number[] => validators.map((_, i) => i).filter(() => random.chance(percent))
  const isCopied = random.chance(10)
  const vote = (): VoteFacts => ({
    validator: random.below(validators.length),
    approves: random.chance(85),
    signed: random.chance(94) ? 'well' : random.pick(['by another', 'not']),
    isAboutAnother: random.chance(1),
    context: random.chance(2) ? null : isCopied ? 'same' : `context-${random.below(4)}`,
    // Near a deviation of half a minute, which decides the score.
    seconds: random.chance(70) ? random.below(80) : random.pick([0, 24, 25, 26, 50, 300]),
  })
  return {
    votes: Array.from({ length: random.below(6) }, vote),
    named: [...some(90), ...(random.chance(10) ? some(50) : [])],
    known: some(93),
    threshold: random.chance(90) ? 1 + random.below(3) : random.pick([4, 0, -1]),
    assembled: random.chance(94) ? 'well' : random.pick(['by another', 'not']),
    isOver: random.chance(15),
  }
}

/** protocol/trust-operations 8.6, row by row. */
function expectedReason(facts: ProofFacts): string {
  const { votes, named, known, threshold, assembled, isOver } = facts
  if (assembled === 'not') return 'missing_signature'
  if (assembled === 'by another') return 'invalid_assembler_signature'
  if (votes.some((vote) => vote.isAboutAnother)) return 'proof_id_mismatch'
  for (const vote of votes) {
    if (vote.signed === 'not') return 'invalid_vote_signature'
    if (!known.includes(vote.validator)) return 'unknown_validator_key'
    if (vote.signed === 'by another') return 'invalid_vote_signature'
  }
  if (votes.some((vote) => !named.includes(vote.validator))) return 'vote_not_in_validator_set'
  const rejects = (validator: number): boolean => votes.some((vote) => vote.validator === validator && !vote.approves)
  const counting = votes.filter((vote) => vote.approves && !rejects(vote.validator))
  const approving = new Set(counting.map((vote) => vote.validator)).size
  if (approving < threshold || threshold < 1) return 'threshold_not_met'
  if (counting.some((vote) => vote.context === null)) return 'missing_context_digest'
  if (cascadeScore(counting) > 0.4) return 'cascade_detected'
  return isOver ? 'expired' : 'valid'
}

/** protocol/trust-operations 8.3 for votes that all name a context. */
function cascadeScore(votes: readonly VoteFacts[]): number {
  const n = votes.length
  if (n < 2) return 0
  const shared = votes.map(({ context }) => votes.filter((other) => other.context === context).length)
  const divergence = (Math.max(...shared) - 1) / (n - 1)
  const sum = votes.reduce((total, { seconds }) => total + seconds, 0)
  const squares = votes.reduce((total, { seconds }) => total + seconds ** 2, 0)
  // Whole numbers until the last division: n·Σx² − (Σx)² is n(n−1) times the variance.
  const deviation = Math.sqrt((n * squares - sum ** 2) / (n * (n - 1)))
  return 0.7 * divergence + 0.3 * Math.max(0, Math.min(1, 1 - deviation / 30))
}

async function reasonOf(facts: ProofFacts): Promise<string> {
  const record = foreignProof(facts)
  const validatorKeys = new Map(facts.known.map((i) => [nameOf(i), sovereignOf(i).publicKey]))
  const trust = { assemblerKeys: [assembler.publicKey], validatorKeys, now: NOW }
  const verdict = await verifyConsensusProof(readConsensusProof(readJson(wireText(record))), trust)
  return verdict.ok ? 'valid' : verdict.reason
}

function foreignProof({ votes, named, threshold, assembled, isOver }: ProofFacts): ForeignObject {
  const proof = foreignConsensus(assembled === 'by another' ? stranger : assembler, ABOUT, NOW, {
    votes: votes.map(foreignOf),
    validator_sovereign_ids: named.map(nameOf),
    required_threshold: threshold,
    ...(isOver ? { expires_at: writeInstant(NOW) } : {}),
  })
  return assembled === 'not' ? { ...proof, signature: null } : proof
}

function foreignOf(facts: VoteFacts): ForeignObject {
  const signer = facts.signed === 'by another' ? stranger : sovereignOf(facts.validator)
  const vote = foreignVote(signer, ABOUT, NOW - BigInt(facts.seconds) * 1_000_000n, {
    validator_sovereign_id: nameOf(facts.validator),
    vote: facts.approves,
    context_digest: facts.context,
    ...(facts.isAboutAnother ? { decision_id: 'another' } : {}),
  })
  return facts.signed === 'not' ? { ...vote, signature: null } : vote
}

function sovereignOf(index: number): ForeignSovereign {
  const found = validators[index]
  if (found === undefined) throw new RangeError('no such validator')
  return found
}

function nameOf(index: number): string {
  return sovereignOf(index).sovereign_id
}
