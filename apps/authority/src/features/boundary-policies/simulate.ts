import { setImmediate } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import {
  FormError,
  candidateSet,
  draftBoundaryPolicy,
  findSetProblems,
  isJsonObject,
  readSupposedRequest,
  simulateCase,
} from '@chancery/protocol'
import type {
  BoundaryPolicyIntent,
  CheckedPolicy,
  Instant,
  JsonObject,
  JsonValue,
  SimulatedCase,
  SupposedRequest,
} from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { refuseUnknownMembers } from '../../reading.ts'
import { readGoodIntent } from './requests.ts'
import { lastVersion } from './store.ts'

/** At most so many requests are simulated at once; each costs two evaluations. */
const MAX_CONTEXTS = 1000
/** Changed answers that are shown one by one; all are counted. */
const SAMPLE = 20
/** Requests judged before others get a turn. */
const CASES_PER_TURN = 25

/**
 * POST /admin/boundary-policies/simulate
 * How requests would be decided with this policy in force, against how they are decided now. Signs and stores nothing.
 */
export async function simulate(call: OperatorCall, office: Office): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['intent', 'contexts'])
  const given = call.body['intent']
  if (!isJsonObject(given)) throw new Refusal('missing_policy')
  const intent = readGoodIntent(given)
  const own = office.genesis.network_name
  const now = office.clock.now()
  const requests = readContexts(call.body['contexts'], own, now)
  const version = (await lastVersion(office.store.db, intent.policy_id)) + 1
  const active = await office.boundaryPolicies.read()
  const candidate = candidateSet(active, draftCandidate(office, intent, version))
  const counted = await countChanges({ active, candidate }, requests)
  return {
    policy_id: intent.policy_id,
    version,
    active_set_healthy: findSetProblems(active, now).length === 0,
    candidate_set_healthy: findSetProblems(candidate, now).length === 0,
    total: requests.length,
    ...counted,
  }
}

function readContexts(value: JsonValue | undefined, provider: string, now: Instant): readonly SupposedRequest[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CONTEXTS)
    throw new Refusal('invalid_input', { field: 'contexts' })
  return (value as readonly JsonValue[]).map((each, index) => {
    try {
      return readSupposedRequest(each, { provider, now })
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      throw new Refusal('invalid_context', { field: `contexts[${index}].${error.field}` }, { cause: error })
    }
  })
}

function draftCandidate(office: Office, intent: BoundaryPolicyIntent, version: number) {
  const { signer, genesis, clock } = office
  const facts = { version, issued_by: signer.keyId, issuer_sovereign_id: genesis.network_name, now: clock.now() }
  return draftBoundaryPolicy(intent, facts)
}

async function countChanges(
  sets: { readonly active: readonly CheckedPolicy[]; readonly candidate: readonly CheckedPolicy[] },
  requests: readonly SupposedRequest[],
): Promise<JsonObject> {
  const counts = { unchanged: 0, newly_allowed: 0, newly_denied: 0 }
  const sample: JsonObject[] = []
  for (const [index, { facts, at }] of requests.entries()) {
    if (index % CASES_PER_TURN === CASES_PER_TURN - 1) await setImmediate()
    const result = simulateCase(sets, facts, at)
    counts[result.change] += 1
    if (result.change !== 'unchanged' && sample.length < SAMPLE) sample.push(describe(index, result))
  }
  return { ...counts, sample }
}

/** By number: a fact of the request is never repeated. */
function describe(index: number, { change, active, candidate }: SimulatedCase): JsonObject {
  return { index, change, active: { ...active }, candidate: { ...candidate } }
}
