import { setImmediate } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import { candidateSet, draftBoundaryPolicy, findSetProblems, isJsonObject, simulateCase } from '@chancery/protocol'
import type { BoundaryPolicy, BoundaryPolicyIntent, CheckedPolicy, JsonObject, SimulatedCase } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { refuseUnknownMembers } from '../../requests/read-fields.ts'
import { readGoodIntent } from './requests.ts'
import { readSample, readSimulatedRequests } from './simulated-requests.ts'
import type { SampleRange, SimulationInput } from './simulated-requests.ts'
import { lastVersion } from './queries.ts'

/** Number of requests evaluated before the event loop continues. */
const CASES_PER_LOOP_TURN = 25

/**
 * POST /admin/boundary-policies/simulate
 * Compares decisions under this policy with decisions under the active policies. Signs and stores nothing.
 */
export async function simulate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['intent', 'contexts', 'decisions', 'sample_limit', 'sample_cursor'])
  const given = call.body['intent']
  if (!isJsonObject(given)) throw new Refusal('missing_policy')
  const intent = readGoodIntent(given)
  const now = parts.clock.now()
  const sample = readSample(call.body)
  const requests = await readSimulatedRequests(call.body, parts, sample)
  const version = (await lastVersion(parts.database.read, intent.policy_id)) + 1
  const active = await parts.active.read()
  const candidate = candidateSet(active, draftCandidate(parts, intent, version))
  const counted = await countChanges({ active, candidate }, requests, sample)
  return {
    policy_id: intent.policy_id,
    version,
    active_set_healthy: findSetProblems(active, now).length === 0,
    candidate_set_healthy: findSetProblems(candidate, now).length === 0,
    total: requests.length,
    ...rangeOf(requests),
    ...counted,
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

/** All changes are counted; those of the sample are returned. */
async function countChanges(
  sets: { readonly active: readonly CheckedPolicy[]; readonly candidate: readonly CheckedPolicy[] },
  requests: readonly SimulationInput[],
  { limit, after }: SampleRange,
): Promise<JsonObject> {
  const counts = { unchanged: 0, newly_allowed: 0, newly_denied: 0 }
  const sample: JsonObject[] = []
  let next: string | null = null
  let shown = after
  for (const [index, { facts, at, store_sequence }] of requests.entries()) {
    if (index % CASES_PER_LOOP_TURN === CASES_PER_LOOP_TURN - 1) await setImmediate()
    const result = simulateCase(sets, facts, at)
    counts[result.change] += 1
    if (result.change === 'unchanged' || index <= after) continue
    if (sample.length < limit) {
      sample.push(describe({ index, ...(store_sequence === undefined ? {} : { store_sequence }) }, result))
      shown = index
    } else next ??= `${requests[0]?.store_sequence ?? 0}.${shown}`
  }
  return { ...counts, sample, next_sample_cursor: next }
}

/** Identified by position, so that no fact of the request is repeated. */
function describe(place: JsonObject, { change, active, candidate }: SimulatedCase): JsonObject {
  return { ...place, change, active: { ...active }, candidate: { ...candidate } }
}
