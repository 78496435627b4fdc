import {
  FormError,
  candidateSet,
  concludeSteps,
  draftBoundaryPolicy,
  evaluatePolicies,
  findPolicyIssues,
  findPolicyWarnings,
  isJsonObject,
  member,
  readInstant,
  readPolicyIntent,
  readSupposedRequest,
} from '@chancery/protocol'
import type { BoundaryPolicyIntent, CheckedPolicy, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { toContext } from './policy-file.ts'

/** One case and its result. `differences` is empty when everything was as expected. */
export interface CaseResult {
  readonly file: string
  readonly name: string
  readonly differences: readonly Difference[]
}

export interface Difference {
  /** The compared value: `outcome`, or the name of a gate. */
  readonly subject: string
  readonly expected: string
  readonly actual: string
}

export interface TestReport {
  readonly results: readonly CaseResult[]
  readonly gates: readonly string[]
  /** Gates that no case runs. */
  readonly unreached: readonly string[]
  /** Gates that run in some case but fail in none. */
  readonly neverFailed: readonly string[]
  /** Warnings about valid policies. */
  readonly warnings: readonly { readonly policy_id: string; readonly message: string }[]
}

export interface SourceFile {
  readonly name: string
  readonly content: JsonObject
}

/** Runs all cases against all policies of a folder, on this machine and with the engine of the authority. */
export function runPolicyTests(
  policies: readonly SourceFile[],
  cases: readonly SourceFile[],
  now: Instant,
): TestReport {
  const set = policies.reduce<readonly CheckedPolicy[]>((stored, file) => {
    const intent = readIntent(file)
    if (stored.some((each) => each.policy_id === intent.policy_id))
      throw unusable(file, `another file has the policy_id ${intent.policy_id} too`)
    return candidateSet(
      stored,
      draftBoundaryPolicy(intent, { version: 1, issued_by: 'test', issuer_sovereign_id: 'test', now }),
    )
  }, [])
  const gates = set.flatMap(({ policy }) => (policy?.gates ?? []).map((gate) => `${policy?.policy_id}/${gate.gate_id}`))
  const outcomes = new Map<string, Set<string>>()
  const results = cases.flatMap((file) => runFile(file, { set, gates, outcomes, now }))
  return {
    results,
    gates,
    unreached: gates.filter((gate) => !outcomes.has(gate)),
    neverFailed: gates.filter((gate) => outcomes.has(gate) && [...(outcomes.get(gate) ?? [])].join() === 'pass'),
    warnings: set.flatMap(({ policy }) =>
      policy === undefined
        ? []
        : findPolicyWarnings(policy).map(({ message }) => ({ policy_id: policy.policy_id, message })),
    ),
  }
}

function readIntent(file: SourceFile): BoundaryPolicyIntent {
  const id = file.content['policy_id']
  const reading = readPolicyIntent(typeof id === 'string' ? id : '', file.content)
  if (!reading.ok) throw unusable(file, reading.errors.map(({ field, message }) => `${field}: ${message}`).join('; '))
  const issues = findPolicyIssues(reading.intent, reading)
  if (issues.length > 0)
    throw unusable(
      file,
      issues.map(({ gate_id, message }) => `${gate_id === undefined ? '' : `${gate_id}: `}${message}`).join('; '),
    )
  return reading.intent
}

function unusable(file: SourceFile, why: string): CommandError {
  return new CommandError({ code: 'invalid_boundary_policy', message: `${file.name} cannot be used: ${why}.` })
}

interface TestRun {
  readonly set: readonly CheckedPolicy[]
  readonly gates: readonly string[]
  readonly outcomes: Map<string, Set<string>>
  readonly now: Instant
}

function runFile(file: SourceFile, testRun: TestRun): readonly CaseResult[] {
  const cases = file.content['cases']
  if (!Array.isArray(cases)) throw invalid(file.name, 'cases must be a list')
  const time = file.content['now']
  const now = time === undefined ? testRun.now : typeof time === 'string' ? readInstant(time) : undefined
  if (now === undefined) throw invalid(file.name, 'now must be an ISO 8601 instant')
  return (cases as readonly JsonValue[]).map((each, index) => runCase(file.name, each, index, { ...testRun, now }))
}

function runCase(file: string, value: JsonValue, index: number, { set, gates, outcomes, now }: TestRun): CaseResult {
  const place = `${file}, case ${index + 1}`
  const { name, outcome, expected } = readCase(place, value, gates)
  const { facts, at } = readRequest(place, toContext(value), now)
  const { steps, evaluations } = evaluatePolicies(set, facts, at)
  const seen = new Map(evaluations.map((each) => [`${each.policy_id}/${each.gate_id}`, each.outcome]))
  for (const [gate, result] of seen) outcomes.set(gate, (outcomes.get(gate) ?? new Set()).add(result))
  const { authorized, denial_reason } = concludeSteps(steps)
  const actual = authorized ? 'allow' : 'deny'
  const differences = [
    { subject: 'outcome', expected: outcome, actual: denial_reason === null ? actual : `${actual}: ${denial_reason}` },
    ...[...expected].map(([subject, wanted]) => ({
      subject,
      expected: wanted,
      actual: seen.get(subject) ?? 'not run',
    })),
  ].filter(({ subject, expected: wanted, actual: got }) => (subject === 'outcome' ? actual !== wanted : got !== wanted))
  return { file, name, differences }
}

function readCase(
  place: string,
  value: JsonValue,
  gates: readonly string[],
): { name: string; outcome: string; expected: ReadonlyMap<string, string> } {
  const given = isJsonObject(value) ? value : {}
  const expect = isJsonObject(given['expect']) ? given['expect'] : {}
  const [name, outcome, expected] = [given['name'], expect['outcome'], member(expect, 'gates') ?? {}]
  if (typeof name !== 'string') throw invalid(place, 'a name is needed')
  if (outcome !== 'allow' && outcome !== 'deny') throw invalid(place, 'expect.outcome must be allow or deny')
  if (!isJsonObject(expected)) throw invalid(place, 'expect.gates must name gates')
  const entries = Object.entries(expected)
  const unknown = entries.find(([gate, word]) => !gates.includes(gate) || typeof word !== 'string')
  // A misspelt gate would be expected but never run.
  if (unknown !== undefined) throw invalid(place, `no policy of this folder has the gate ${unknown[0]}`)
  return { name, outcome, expected: new Map(entries as [string, string][]) }
}

function readRequest(place: string, value: JsonValue, now: Instant): ReturnType<typeof readSupposedRequest> {
  try {
    return readSupposedRequest(value, { provider: 'own-network', now })
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw invalid(place, `context ${error.message}`)
  }
}

function invalid(place: string, why: string): CommandError {
  return new CommandError({ code: 'invalid_cases', message: `${place}: ${why}.` })
}
