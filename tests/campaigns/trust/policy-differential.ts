import { boundaryPolicyDigest, evaluateBoundary, preparePolicy, readJson } from '@chancery/protocol'
import type {
  AgreementBasis,
  Attestation,
  AttestationBasis,
  BoundaryPolicy,
  CheckedPolicy,
  ContextFacts,
  Evaluation,
  JsonObject,
  ResolutionFailure,
} from '@chancery/protocol'
import { type ForeignObject, wireText } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { makeQuestion } from './policy-cases.ts'
import { decideByReference, type ReferencePolicy, type ReferenceQuestion } from './policy-reference.ts'

export const summary = 'random contexts and policies: the engine against a second evaluator, line by line'
export const defaultCount = 1_000_000

const SHOWN = 5
const EVERY = 100_000

export function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const seen = new Map<string, number>()
  let violations = 0
  for (let done = 1; done <= count; done += 1) {
    const question = makeQuestion(random)
    const wanted = decideByReference(question)
    const given = decideByEngine(question)
    for (const line of wanted) if (/^gate |^reason /.test(line)) countKind(seen, line)
    if (wanted.join('\n') !== given.join('\n')) {
      violations += 1
      if (violations <= SHOWN) log(describe(question, wanted, given))
    }
    if (done % EVERY === 0) log(`${done} cases, ${violations} violations`)
  }
  for (const [kind, times] of [...seen].sort(([a], [b]) => (a < b ? -1 : 1))) log(`${kind}: ${times}`)
  return Promise.resolve({ cases: count, violations })
}

/** Counts of outcomes, to detect a generator whose requests no longer match its policies. */
function countKind(seen: Map<string, number>, line: string): void {
  const kind = line.startsWith('gate ') ? `outcome ${line.split(' ').at(-1)}` : line.replace(/'.*/, "'…'")
  seen.set(kind, (seen.get(kind) ?? 0) + 1)
}

/** Returns the lines of the product. */
function decideByEngine(question: ReferenceQuestion): readonly string[] {
  const { policies, context, now } = question
  return describeEvaluation(
    evaluateBoundary({
      basis: toBasis(question),
      context: toProduct(context) as unknown as ContextFacts,
      policies: policies.map(toChecked),
      now,
    }),
  )
}

const WINDOW = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z' }

function toBasis({ attestation, terms }: ReferenceQuestion): AgreementBasis | AttestationBasis {
  const { capabilities, commitment } = terms
  if (attestation === undefined)
    return { kind: 'agreement', terms: { ...WINDOW, capabilities, freshness_commitment: commitment } }
  const record = { ...toProduct(attestation), valid_from: WINDOW.valid_from, expires_at: WINDOW.valid_until }
  return {
    kind: 'attestation',
    attestation_id: 'attestation',
    failure: undefined,
    found: true,
    attestation: record as unknown as Attestation,
    isVerified: true,
    requester: 'a',
    attestation_digest: null,
    revocation_seq_checked: 0,
  }
}

/** Reads the policy as the product reads it from a request. */
function toProduct(value: ForeignObject): JsonObject {
  return readJson(wireText(value)) as JsonObject
}

function toChecked({ record, policy_id, version, problem }: ReferencePolicy): CheckedPolicy {
  const policy = toProduct(record) as unknown as BoundaryPolicy
  const named = { policy_id, version, policy_digest: boundaryPolicyDigest(policy), policy }
  if (problem !== undefined) return { ...named, problem: problem as ResolutionFailure, ready: undefined }
  return { ...named, problem, ready: preparePolicy(policy) }
}

function describeEvaluation({ authorized, denial_reason, steps, policy_binding }: Evaluation): readonly string[] {
  const { policies, gate_evaluations, resolution_failure } = policy_binding
  return [
    `authorized ${authorized}`,
    `reason ${denial_reason ?? 'none'}`,
    ...steps.map((step) => `step ${step.gate_name} ${step.passed}`),
    ...gate_evaluations.map(
      (each) =>
        `gate ${each.policy_id}@${each.policy_version} ${each.gate_id} ${each.order} ${each.mode} ${each.outcome}`,
    ),
    `resolution ${resolution_failure ?? 'resolved'}`,
    `policies ${policies.map((each) => `${each.policy_id} ${each.version} ${each.policy_digest}`).join(', ')}`,
    `set ${policy_binding.policy_set_digest}`,
    `context ${policy_binding.context_digest}`,
    `types ${policy_binding.registry_gate_types.join()}`,
  ]
}

function describe(question: ReferenceQuestion, wanted: readonly string[], given: readonly string[]): string {
  const at = wanted.findIndex((line, index) => line !== given[index])
  const asked = wireText({ context: question.context, policies: question.policies.map((each) => each.record) })
  return `violation: wanted ${wanted[at] ?? 'nothing'}, got ${given[at] ?? 'nothing'} for ${asked}`
}
