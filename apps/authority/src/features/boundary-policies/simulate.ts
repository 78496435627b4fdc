import { setImmediate } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import { candidateSet, draftBoundaryPolicy, findSetProblems, isJsonObject, simulateCase } from '@chancery/protocol'
import type { BoundaryPolicy, BoundaryPolicyIntent, CheckedPolicy, JsonObject, SimulatedCase } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { refuseUnknownMembers } from '../../requests/read-fields.ts'
import { readGoodIntent } from './requests.ts'
import { readSimulatedRequests } from './simulated-requests.ts'
import type { SimulationInput } from './simulated-requests.ts'
import { lastVersion } from './queries.ts'

/** Number of changed results that are returned. All are counted. */
const SAMPLE = 20
/** Number of requests evaluated before the event loop continues. */
const CASES_PER_LOOP_TURN = 25

/**
 * POST /admin/boundary-policies/simulate
 * Compares decisions under this policy with decisions under the active policies. Signs and stores nothing.
 */
export async function simulate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['intent', 'contexts', 'decisions'])
  const given = call.body['intent']
  if (!isJsonObject(given)) throw new Refusal('missing_policy')
  const intent = readGoodIntent(given)
  const now = parts.clock.now()
  const requests = await readSimulatedRequests(call.body, parts)
  const version = (await lastVersion(parts.database.read, intent.policy_id)) + 1
  const active = await parts.active.read()
  const candidate = candidateSet(active, draftCandidate(parts, intent, version))
  const last = requests.at(-1)?.store_sequence
  const counted = await countChanges({ active, candidate }, requests)
  return {
    policy_id: intent.policy_id,
    version,
    active_set_healthy: findSetProblems(active, now).length === 0,
    candidate_set_healthy: findSetProblems(candidate, now).length === 0,
    total: requests.length,
    ...(last === undefined ? {} : { last_sequence: last }),
    ...counted,
  }
}

function draftCandidate(parts: BoundaryPoliciesParts, intent: BoundaryPolicyIntent, version: number): BoundaryPolicy {
  const { signing, network, clock } = parts
  const facts = { version, issued_by: signing.keyId, issuer_sovereign_id: network.name, now: clock.now() }
  return draftBoundaryPolicy(intent, facts)
}

async function countChanges(
  sets: { readonly active: readonly CheckedPolicy[]; readonly candidate: readonly CheckedPolicy[] },
  requests: readonly SimulationInput[],
): Promise<JsonObject> {
  const counts = { unchanged: 0, newly_allowed: 0, newly_denied: 0 }
  const sample: JsonObject[] = []
  for (const [index, { facts, at, store_sequence }] of requests.entries()) {
    if (index % CASES_PER_LOOP_TURN === CASES_PER_LOOP_TURN - 1) await setImmediate()
    const result = simulateCase(sets, facts, at)
    counts[result.change] += 1
    if (result.change !== 'unchanged' && sample.length < SAMPLE)
      sample.push(describe({ index, ...(store_sequence === undefined ? {} : { store_sequence }) }, result))
  }
  return { ...counts, sample }
}

/** Identified by position, so that no fact of the request is repeated. */
function describe(place: JsonObject, { change, active, candidate }: SimulatedCase): JsonObject {
  return { ...place, change, active: { ...active }, candidate: { ...candidate } }
}
