import {
  FormError,
  candidateSet,
  cedarEntities,
  cedarTexts,
  concludeSteps,
  draftBoundaryPolicy,
  evaluatePolicies,
  findPolicyIssues,
  findPolicyWarnings,
  isJsonObject,
  member,
  policyQuestions,
  readInstant,
  readPolicyIntent,
  readSupposedRequest,
  sha256Hex,
  supposedFact,
} from '@chancery/protocol'
import type {
  BoundaryPolicyIntent,
  CheckedPolicy,
  EngineAnswer,
  EngineAnswers,
  Instant,
  JsonObject,
  JsonValue,
} from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { type Cedar, type CedarTexts, nameTexts, toContext } from './cedar.ts'

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

export interface PolicyTests {
  readonly policies: readonly SourceFile[]
  readonly cases: readonly SourceFile[]
  /** Cedar texts of the folder. */
  readonly texts: { readonly policySets: readonly string[]; readonly schemas: readonly string[] }
  readonly cedar: Cedar
  readonly now: Instant
}

/** Runs all cases against all policies of a folder, on this machine and with the engine of the authority. */
export async function runPolicyTests({ policies, cases, texts, cedar, now }: PolicyTests): Promise<TestReport> {
  const engine = {
    cedar,
    texts: new Map([...texts.policySets, ...texts.schemas].map((text) => [sha256Hex(text), text])),
  }
  let set: readonly CheckedPolicy[] = []
  for (const file of policies) {
    const intent = readIntent({ ...file, content: nameTexts(file.content, onlyTexts(texts)) })
    if (set.some((each) => each.policy_id === intent.policy_id))
      throw unusable(file, `another file has the policy_id ${intent.policy_id} too`)
    await requireCedar(file, intent, engine)
    const facts = { version: 1, issued_by: 'test', issuer_sovereign_id: 'test', now }
    set = candidateSet(set, draftBoundaryPolicy(intent, facts))
  }
  const gates = set.flatMap(({ policy }) => (policy?.gates ?? []).map((gate) => `${policy?.policy_id}/${gate.gate_id}`))
  const outcomes = new Map<string, Set<string>>()
  const results: CaseResult[] = []
  for (const file of cases) results.push(...(await runFile(file, { set, gates, outcomes, now, engine })))
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

/** A gate that names no text means the only one of the folder. */
function onlyTexts({ policySets, schemas }: PolicyTests['texts']): Partial<CedarTexts> {
  const [policySet, schema] = [policySets, schemas].map((each) => (each.length === 1 ? each[0] : undefined))
  return { ...(policySet === undefined ? {} : { policySet }), ...(schema === undefined ? {} : { schema }) }
}

interface TestEngine {
  readonly cedar: Cedar
  readonly texts: ReadonlyMap<string, string>
}

function findTexts({ texts }: TestEngine, named: ReturnType<typeof cedarTexts>): CedarTexts | undefined {
  const [policySet, schema] = [texts.get(named.policy_set_digest), texts.get(named.schema_digest)]
  return policySet === undefined || schema === undefined ? undefined : { policySet, schema }
}

/** The checks that the authority makes at publication. */
async function requireCedar(file: SourceFile, { gates }: BoundaryPolicyIntent, engine: TestEngine): Promise<void> {
  const asking = gates.flatMap(({ gate_id, gate_type, config }) => {
    if (gate_type !== 'cedar.v1') return []
    const texts = findTexts(engine, cedarTexts(config))
    if (texts === undefined) throw unusable(file, `${gate_id}: the folder has no text with the digest it names`)
    return [{ gate_id, ...texts, entities: cedarEntities(config) }]
  })
  if (asking.length === 0) return
  const found = await engine.cedar.check(asking)
  for (const [index, { gate_id }] of asking.entries()) {
    const problems = found[index] ?? []
    if (problems.length > 0) throw unusable(file, `${gate_id}: ${problems.join('; ')}`)
  }
}

/** Cedar is asked; what other systems answer is part of the case. */
async function answersFor(
  { set, engine }: TestRun,
  { facts, at, external_facts }: ReturnType<typeof readSupposedRequest>,
): Promise<EngineAnswers> {
  const answers = new Map<string, EngineAnswer>()
  for (const { gate_name, question } of policyQuestions(set, facts, at)) {
    const supposed = external_facts.get(gate_name)
    const texts = question.kind === 'cedar' ? findTexts(engine, question) : undefined
    if (question.kind === 'cedar' && texts !== undefined)
      answers.set(question.digest, await engine.cedar.ask(question, texts))
    else if (question.kind === 'external_fact' && supposed !== undefined)
      answers.set(question.digest, supposedFact(question, supposed, facts.context.requested_at))
  }
  return answers
}

function readIntent(file: SourceFile): BoundaryPolicyIntent {
  const { policy_id: id, texts: _texts, ...members } = file.content
  const reading = readPolicyIntent(typeof id === 'string' ? id : '', members)
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
  readonly engine: TestEngine
}

async function runFile(file: SourceFile, testRun: TestRun): Promise<readonly CaseResult[]> {
  const cases = file.content['cases']
  if (!Array.isArray(cases)) throw invalid(file.name, 'cases must be a list')
  const time = file.content['now']
  const now = time === undefined ? testRun.now : typeof time === 'string' ? readInstant(time) : undefined
  if (now === undefined) throw invalid(file.name, 'now must be an ISO 8601 instant')
  const results: CaseResult[] = []
  for (const [index, each] of (cases as readonly JsonValue[]).entries())
    results.push(await runCase(file.name, each, index, { ...testRun, now }))
  return results
}

async function runCase(file: string, value: JsonValue, index: number, testRun: TestRun): Promise<CaseResult> {
  const { set, gates, outcomes, now } = testRun
  const place = `${file}, case ${index + 1}`
  const { name, outcome, expected } = readCase(place, value, gates)
  const request = readRequest(place, toContext(value), now)
  const answers = await answersFor(testRun, request)
  const { steps, evaluations } = evaluatePolicies(set, { ...request.facts, answers }, request.at)
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
