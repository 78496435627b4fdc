import { setImmediate } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import {
  CounterNotes,
  SimulatedCounters,
  candidateSet,
  draftBoundaryPolicy,
  evaluatePolicies,
  findSetProblems,
  isJsonObject,
  policyQuestions,
  simulateCase,
  writeSortable,
} from '@chancery/protocol'
import type {
  BoundaryPolicy,
  BoundaryPolicyIntent,
  CheckedPolicy,
  Facts,
  JsonObject,
  SimulatedCase,
} from '@chancery/protocol'
import { readCounterRows } from '../../budgets/counter-rows.ts'
import { usedOf } from '../../budgets/view.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesParts, BoundaryPoliciesState } from './active-set.ts'
import { refuseUnknownMembers } from '../../requests/read-fields.ts'
import { overTime } from './cedar-authoring.ts'
import { readIntentRequest, requireGood } from './check-engines.ts'
import { type GateSources, answerQuestions } from './gate-sources.ts'
import { type SampleRange, type SimulationInput, readSample, readSimulatedRequests } from './simulated-requests.ts'
import { lastVersion } from './queries.ts'

/** Time of evaluation before the event loop continues: decisions are made on it, too. */
const LOOP_TURN_MS = 5
/** For one simulation, with the check of its texts. Less than the deadline of a request. */
const SIMULATION_MS = 10_000

/**
 * POST /admin/boundary-policies/simulate
 * Compares decisions under this policy with decisions under the active policies. Signs and stores nothing.
 */
export async function simulate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['intent', 'contexts', 'decisions', 'sample_limit', 'sample_cursor'])
  const given = call.body['intent']
  if (!isJsonObject(given)) throw new Refusal('missing_policy')
  const read = readIntentRequest(given)
  const { engines } = parts
  const author = { operator: call.operator, signal: AbortSignal.any([call.signal, AbortSignal.timeout(SIMULATION_MS)]) }
  const intent = await requireGood(read, engines, author)
  // Texts that come with the intent are not stored.
  const texts = { find: async (digest: string) => read.texts.get(digest) ?? (await engines.texts.find(digest)) }
  const now = parts.clock.now()
  const sample = readSample(call.body)
  const requests = await readSimulatedRequests(call.body, parts, sample)
  const version = (await lastVersion(parts.database.read, intent.policy_id)) + 1
  const active = await parts.active.read()
  const candidate = candidateSet(active, draftCandidate(parts, intent, version))
  const policyRequired = parts.settings.boundaryPolicyEnforcement === 'required'
  const cedar = engines.cedar.simulate(author)
  const sources = { cedar, facts: engines.facts, texts }
  try {
    return {
      policy_id: intent.policy_id,
      version,
      active_set_healthy: findSetProblems(active, now).length === 0,
      candidate_set_healthy: findSetProblems(candidate, now).length === 0,
      total: requests.length,
      ...rangeOf(requests),
      ...(await countChanges(
        {
          active,
          candidate,
          sources,
          policyRequired,
          signal: author.signal,
          counters: await beginCounters(parts, { active, candidate }, requests),
        },
        requests,
        sample,
      )),
    }
  } finally {
    await cedar.close()
  }
}

function draftCandidate(parts: BoundaryPoliciesParts, intent: BoundaryPolicyIntent, version: number): BoundaryPolicy {
  const { signing, network, clock } = parts
  const facts = { version, issued_by: signing.keyId, issuer_sovereign_id: network.name, now: clock.now() }
  return draftBoundaryPolicy(intent, facts)
}

/** The decisions looked at, in store order or newest first; nothing for contexts. */
function rangeOf(requests: readonly SimulationInput[]): { first_sequence?: number; last_sequence?: number } {
  const [first, last] = [requests.at(0)?.store_sequence, requests.at(-1)?.store_sequence]
  if (first === undefined || last === undefined) return {}
  return { first_sequence: Math.min(first, last), last_sequence: Math.max(first, last) }
}

/** Stored decisions are counted from zero, contexts from the present state. Nothing is locked. */
async function beginCounters(
  { database, clock }: BoundaryPoliciesParts,
  sets: { readonly active: readonly CheckedPolicy[]; readonly candidate: readonly CheckedPolicy[] },
  requests: readonly SimulationInput[],
): Promise<SimulatedSets['counters']> {
  const notes = new CounterNotes()
  const supposed = requests.filter(({ store_sequence }) => store_sequence === undefined)
  for (const { facts, at } of supposed)
    for (const set of [sets.active, sets.candidate]) evaluatePolicies(set, { ...facts, budgets: notes }, at)
  const now = clock.now()
  const rows = await readCounterRows(database, [...notes.asked.keys()], writeSortable(now))
  const begin = new Map(
    [...notes.asked.values()].map((asked) => [asked.budget_key, { ...usedOf(asked, rows, now), replaces: null }]),
  )
  return { active: new SimulatedCounters(begin), candidate: new SimulatedCounters(begin) }
}

interface SimulatedSets {
  readonly active: readonly CheckedPolicy[]
  readonly candidate: readonly CheckedPolicy[]
  readonly sources: GateSources
  readonly policyRequired: boolean
  readonly counters: { readonly active: SimulatedCounters; readonly candidate: SimulatedCounters }
  /** Ends the simulation: its caller has gone, or its time is over. */
  readonly signal: AbortSignal
}

interface AnsweredFacts {
  readonly facts: Facts
  /** Whether an external fact is not known. */
  readonly isMissing: boolean
  /** Whether Cedar gave no answer, for example within its time. The gate denies, and a decision may get an answer. */
  readonly isUnanswered: boolean
}

/** No other system is asked: an external fact is the supposed or the recorded one. */
async function withAnswers(
  { active, candidate, sources }: SimulatedSets,
  { facts, at, externalFact }: SimulationInput,
): Promise<AnsweredFacts> {
  const asked = [...policyQuestions(active, facts, at), ...policyQuestions(candidate, facts, at)]
  if (asked.length === 0) return { facts, isMissing: false, isUnanswered: false }
  const answers = new Map(
    await answerQuestions(
      sources,
      asked.filter(({ question }) => question.kind === 'cedar'),
      'simulation',
    ),
  )
  const isUnanswered = [...answers.values()].some(
    (answer) => answer.kind === 'none' && answer.failure !== 'request_refused',
  )
  let isMissing = false
  for (const each of asked) {
    if (each.question.kind === 'cedar') continue
    const answer = externalFact(each)
    if (answer === undefined) isMissing = true
    else answers.set(each.question.digest, answer)
  }
  return { facts: { ...facts, answers }, isMissing, isUnanswered }
}

/** All changes are counted; those of the sample are returned. */
async function countChanges(
  sets: SimulatedSets,
  requests: readonly SimulationInput[],
  { limit, after }: SampleRange,
): Promise<JsonObject> {
  const counts = { unchanged: 0, newly_allowed: 0, newly_denied: 0, newly_held: 0 }
  let [missing, unanswered] = [0, 0]
  let began = performance.now()
  const sample: JsonObject[] = []
  let next: string | null = null
  let shown = after
  for (const [index, request] of requests.entries()) {
    const { at, store_sequence } = request
    if (performance.now() - began >= LOOP_TURN_MS) {
      await setImmediate()
      began = performance.now()
    }
    if (sets.signal.aborted) throw overTime()
    const { facts, isMissing, isUnanswered } = await withAnswers(sets, request)
    if (isMissing) missing += 1
    if (isUnanswered) unanswered += 1
    const result = simulateCase(sets, facts, at)
    counts[result.change] += 1
    if (result.change === 'unchanged' || index <= after) continue
    if (sample.length < limit) {
      sample.push(describe({ index, ...(store_sequence === undefined ? {} : { store_sequence }) }, result))
      shown = index
    } else next ??= `${requests[0]?.store_sequence ?? 0}.${shown}`
  }
  const told = {
    ...(missing === 0 ? {} : { external_facts_missing: missing }),
    ...(unanswered === 0 ? {} : { engine_answers_missing: unanswered }),
  }
  return { ...counts, ...told, sample, next_sample_cursor: next }
}

/** Identified by position, so that no fact of the request is repeated. */
function describe(place: JsonObject, { change, active, candidate }: SimulatedCase): JsonObject {
  return { ...place, change, active: { ...active }, candidate: { ...candidate } }
}
