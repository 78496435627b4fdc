import { Refusal, boundaryPolicies } from '@chancery/contract'
import {
  BOUNDARY_POLICY_FORM,
  GATE_TYPE_NAMES,
  checkReceivedForm,
  checkStoredPolicy,
  findPolicyIssues,
  findPolicyWarnings,
  findSetProblems,
  isJsonObject,
  isPolicyId,
  isWellFormed,
  readReceived,
  readStoredPolicy,
  receivedDigest,
  verifyReceivedPlainly,
  writeSortable,
} from '@chancery/protocol'
import type { AskedQuestion, EngineAnswers, JsonObject } from '@chancery/protocol'
import type { Feature } from '../../core.ts'
import { type Call, SerialQueue } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import { changePolicies, describePolicySet, openActivePolicies } from './active-set.ts'
import type { ActivePolicies, BoundaryPoliciesParts, BoundaryPoliciesState, PolicySetView } from './active-set.ts'
import { type CedarState, openCedarEngine } from './cedar.ts'
import { openFactSources } from './fact-sources.ts'
import { answerQuestions, openPolicyTexts } from './gate-sources.ts'
import { list, readVersions } from './list.ts'
import { describeActive, describeRows, publish } from './publish.ts'
import { simulate } from './simulate.ts'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readOrRefuse, readTrustKeys, respondVerdict, shorten } from '../../requests/read-fields.ts'
import { canRun, checkWithEngines, readIntentRequest, readVersion, toJson } from './check-engines.ts'
import { deactivateVersion, findActiveVersion, findPolicyVersion, lastVersion, switchVersion } from './queries.ts'
import type { PolicyRow } from './queries.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { type Reader, isUniqueViolation } from '../../database/database.ts'

export { openActivePolicies } from './active-set.ts'
export { probeCedar } from './cedar.ts'
export type { CedarState } from './cedar.ts'
export type { PolicySetView } from './active-set.ts'

/**
 * POST /admin/boundary-policies/validate
 * Returns the issues of an intent. Signs and stores nothing.
 */
async function validate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const { intent, issues } = await checkWithEngines(readIntentRequest(call.body), parts.engines, call)
  const { policy_id } = intent
  // No stored policy has an id of another form.
  const version = isPolicyId(policy_id) ? (await lastVersion(parts.database.read, policy_id)) + 1 : 1
  const issue_codes = [...new Set(issues.map((issue) => issue.code))]
  const details = { policy_id: shorten(policy_id), version, issue_codes, ...requestDetails(call) }
  await parts.audit.recordAlone([{ type: 'boundary_policy_validated', details }])
  const inForce = isPolicyId(policy_id) ? await findActiveVersion(parts.database.read, policy_id) : null
  const previous = inForce === null ? undefined : await findPolicyVersion(parts.database.read, policy_id, inForce)
  const before = previous === undefined ? undefined : readStoredPolicy(previous)
  const warnings = findPolicyWarnings(intent, before).map((warning) => ({ ...warning }))
  return { valid: issues.length === 0, issues: issues.map(toJson), warnings, policy_id, next_version: version }
}

/**
 * GET /admin/boundary-policies/active
 * Returns the active policies, their health, and the gates that this authority supports.
 */
async function active(_call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const set = await parts.active.read()
  const problems = findSetProblems(set, parts.clock.now())
  return {
    enforcement: parts.settings.boundaryPolicyEnforcement,
    policy_set_healthy: problems.length === 0,
    problems: problems.map((problem) => ({ ...problem })),
    registry_gate_types: GATE_TYPE_NAMES,
    active: set.map(describeActive),
  }
}

/**
 * POST /admin/boundary-policies/{policy_id}/deactivate
 * Deactivates a version. Its bytes are not checked, so that an invalid policy can be deactivated.
 */
async function deactivate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const version = readVersion(call.body)
  const policy_id = call.params['policy_id'] ?? ''
  return changePolicies(parts, async (tx) => {
    const row = isPolicyId(policy_id) ? await findPolicyVersion(tx.query, policy_id, version) : undefined
    if (row === undefined) throw new Refusal('boundary_policy_not_found')
    if (!(await deactivateVersion(tx, policy_id, version, writeSortable(parts.clock.now()))))
      throw new Refusal('boundary_policy_not_active')
    const details = { policy_id, version, policy_digest: row.policy_digest, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'boundary_policy_deactivated', details })
    return { policy_id, version, active: false }
  })
}

/**
 * GET /admin/boundary-policies/{policy_id}/history
 * All versions of one policy with their signed bodies, newest first.
 */
async function history(call: OperatorCall, parts: BoundaryPoliciesParts): Promise<JsonObject> {
  const policy_id = call.params['policy_id'] ?? ''
  const isKnown = isPolicyId(policy_id) && (await lastVersion(parts.database.read, policy_id)) > 0
  if (!isKnown) throw new Refusal('boundary_policy_not_found')
  const { rows, paging } = await readVersions(call, parts, policy_id)
  return { policy_id, versions: await describeRows(rows, true), ...paging }
}

/**
 * POST /boundary-policies/verify
 * Verifies that one of the keys signed exactly this policy. Writes nothing.
 */
async function verify(call: Call, parts: BoundaryPoliciesParts): Promise<JsonObject> {
  const given = call.body['policy']
  if (!isJsonObject(given)) throw new Refusal('missing_policy')
  const received = readOrRefuse('invalid_policy', () => readReceived(BOUNDARY_POLICY_FORM, given))
  if (!isWellFormed(received.record)) throw new Refusal('invalid_policy')
  const form = checkReceivedForm(received)
  // The type is closed: an unknown member is refused before the signature is checked.
  if (!form.ok && form.reason === 'unknown_field') throw new Refusal('invalid_policy')
  const keys = readTrustKeys(call.body, 'issuer_public_keys', ownKeysAt(parts.keys, received.record.issued_at))
  const verdict = await verifyReceivedPlainly(received, keys)
  const { policy_id, version } = received.record
  const members = respondVerdict(call, parts, verdict, 'valid')
  return { ...members, policy_id, version, policy_digest: receivedDigest(received) }
}

/**
 * POST /admin/boundary-policies/{policy_id}/activate
 * Makes one stored version the active one. Its stored bytes are checked again first, because an invalid version would
 * make the whole set unhealthy.
 */
async function activate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const version = readVersion(call.body)
  const policy_id = call.params['policy_id'] ?? ''
  await requireEngines(call, parts, policy_id, version)
  try {
    return await changePolicies(parts, async (tx) => {
      const row = await requireUsable(tx.query, parts, policy_id, version)
      const previous_version = await findActiveVersion(tx.query, policy_id)
      const warnings = await restarts(tx.query, row, previous_version)
      if (previous_version !== version) {
        await switchVersion(tx, policy_id, version, writeSortable(parts.clock.now()))
        const rollback = previous_version !== null && previous_version > version
        const details = { policy_id, version, policy_digest: row.policy_digest, previous_version, rollback }
        await parts.audit.record(tx, {
          type: 'boundary_policy_activated',
          details: { ...details, ...requestDetails(call) },
        })
      }
      return { policy_id, version, previous_version, active: true, ...(warnings.length === 0 ? {} : { warnings }) }
    })
  } catch (error) {
    // Only a writer without the lock can be faster. The database still allows one active version only.
    if (isUniqueViolation(error)) throw new Refusal('boundary_policy_activation_conflict', {}, { cause: error })
    throw error
  }
}

/** Budgets that begin to count from zero, because the active version has another measure, window or per. */
async function restarts(tx: Reader, row: PolicyRow, previous_version: number | null): Promise<readonly JsonObject[]> {
  const previous = previous_version === null ? undefined : await findPolicyVersion(tx, row.policy_id, previous_version)
  const [before, after] = [previous && readStoredPolicy(previous), readStoredPolicy(row)]
  if (before === undefined || after === undefined) return []
  return findPolicyWarnings(after, before)
    .filter(({ code }) => code === 'budget_restarts')
    .map((warning) => ({ ...warning }))
}

/** Before the lock is taken, because an engine may take long. Texts and engines do not depend on the stored policies. */
async function requireEngines(
  call: OperatorCall,
  parts: BoundaryPoliciesState,
  policy_id: string,
  version: number,
): Promise<void> {
  const row = isPolicyId(policy_id) ? await findPolicyVersion(parts.database.read, policy_id, version) : undefined
  const policy = row === undefined ? undefined : readStoredPolicy(row)
  // What is wrong with the row itself is reported by the checks under the lock.
  if (policy === undefined || findPolicyIssues(policy).length > 0) return
  if (!(await canRun(policy, parts.engines, call)))
    throw new Refusal('boundary_policy_activation_refused', { reason: 'gate_type_unavailable' })
}

/** protocol/trust-operations 5.9, rows 2 to 5. */
async function requireUsable(
  tx: Reader,
  parts: BoundaryPoliciesParts,
  policy_id: string,
  version: number,
): Promise<PolicyRow> {
  const row = isPolicyId(policy_id) ? await findPolicyVersion(tx, policy_id, version) : undefined
  if (row === undefined) throw new Refusal('boundary_policy_not_found')
  const checked = await checkStoredPolicy(row, (issuedAt) => ownKeysAt(parts.keys, issuedAt))
  const [problem] = findSetProblems([checked], parts.clock.now())
  if (problem === undefined) {
    const needsStore = checked.ready?.gates.some(
      ({ budget, approval }) => budget !== undefined || approval !== undefined,
    )
    if (needsStore === true && !parts.settings.evidenceStore)
      throw new Refusal('boundary_policy_activation_refused', { reason: 'evidence_store_required' })
    return row
  }
  if (problem.reason === 'policy_store_integrity_failed') throw new Refusal('boundary_policy_integrity_failed')
  throw new Refusal('boundary_policy_activation_refused', { reason: problem.reason })
}

/**
 * GET /admin/boundary-policy-texts/{text_digest}
 * Returns a text that policies name by its digest.
 */
async function text(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const text_digest = call.params['text_digest'] ?? ''
  const found = /^[0-9a-f]{64}$/.test(text_digest) ? await parts.engines.texts.find(text_digest) : undefined
  if (found === undefined) throw new Refusal('boundary_policy_text_not_found')
  return { text_digest, text: found }
}

export interface BoundaryPolicies extends Feature {
  /** The active policies, compared with their stored bytes at each request. */
  readonly active: ActivePolicies
  /** Asks what gates need to know about a request of the caller. Never throws for a source that fails. */
  answer(asked: readonly AskedQuestion[], caller: string): Promise<EngineAnswers>
  describe(): Promise<PolicySetView>
  /** Whether gates of type cedar.v1 get answers in this process. */
  probeCedar(): Promise<CedarState>
}

export function openBoundaryPolicies(parts: BoundaryPoliciesParts): BoundaryPolicies {
  const engines = {
    cedar: openCedarEngine(),
    facts: openFactSources(parts.settings, parts.clock),
    texts: openPolicyTexts(parts.database),
  }
  const own = { ...parts, active: openActivePolicies(parts), queue: new SerialQueue(), engines }
  return {
    routes: [
      bind(boundaryPolicies.validate, (call) => validate(call, own)),
      bind(boundaryPolicies.simulate, (call) => simulate(call, own)),
      bind(boundaryPolicies.publish, (call) => publish(call, own)),
      bind(boundaryPolicies.activate, (call) => activate(call, own)),
      bind(boundaryPolicies.deactivate, (call) => deactivate(call, own)),
      bind(boundaryPolicies.list, (call) => list(call, own)),
      bind(boundaryPolicies.active, (call) => active(call, own)),
      bind(boundaryPolicies.history, (call) => history(call, own)),
      bind(boundaryPolicies.text, (call) => text(call, own)),
      bind(boundaryPolicies.verify, (call) => verify(call, own)),
    ],
    jobs: [],
    active: own.active,
    answer: (asked, caller) => answerQuestions(engines, asked, caller),
    describe: () => describePolicySet(own),
    probeCedar: () => engines.cedar.probe(),
    close: () => engines.cedar.close(),
  }
}
