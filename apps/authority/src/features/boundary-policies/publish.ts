import { Refusal } from '@chancery/contract'
import {
  BOUNDARY_POLICY_FORM,
  boundaryPolicyDigest,
  draftBoundaryPolicy,
  findPolicyWarnings,
  isGlobal,
  readStoredPolicy,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { BoundaryPolicy, BoundaryPolicyIntent, CheckedPolicy, Instant, JsonObject } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { type BoundaryPoliciesParts, type BoundaryPoliciesState, changePolicies } from './active-set.ts'
import type { Transaction } from '../../database/database.ts'
import { readAttempt, respondOnce } from '../../requests/idempotency.ts'
import { readIntentRequest, requireGood } from './check-engines.ts'
import { type PolicyRow, insertTexts, insertVersion, lastVersion } from './queries.ts'
import { setImmediate } from 'node:timers/promises'
import { toWireTime } from '../../requests/list-position.ts'

/** Number of texts parsed before the event loop continues. */
const ROWS_PER_LOOP_TURN = 32

/** Stored versions for lists; `withPolicy` adds the signed body. Each text is checked when it is read. */
export async function describeRows(rows: readonly PolicyRow[], withPolicy: boolean): Promise<JsonObject[]> {
  const out: JsonObject[] = []
  for (const row of rows) {
    if (out.length % ROWS_PER_LOOP_TURN === ROWS_PER_LOOP_TURN - 1) await setImmediate()
    const policy = readStoredPolicy(row)
    out.push({ ...describeRow(row, policy), ...(withPolicy ? { policy: policy ?? null } : {}) })
  }
  return out
}

/** The content of the text is shown only if it is the published text. */
function describeRow(row: PolicyRow, policy: BoundaryPolicy | undefined): JsonObject {
  const facts = {
    policy_id: row.policy_id,
    version: row.version,
    active: row.active === 1,
    policy_digest: row.policy_digest,
    created_at: toWireTime(row.created_at),
    activated_at: toWireTime(row.activated_at),
    deactivated_at: toWireTime(row.deactivated_at),
    integrity_ok: policy !== undefined,
  }
  if (policy === undefined) return facts
  const { description, valid_from, valid_until, gates, selector } = policy
  return { ...facts, description, valid_from, valid_until, gate_count: gates.length, global: isGlobal(selector) }
}

/** One active policy for the active route. Members are null when its text does not verify. */
export function describeActive({ policy_id, version, policy, policy_digest }: CheckedPolicy): JsonObject {
  return {
    policy_id,
    version,
    policy_digest,
    valid_from: policy?.valid_from ?? null,
    valid_until: policy?.valid_until ?? null,
    gate_count: policy?.gates.length ?? null,
    selector: policy?.selector ?? null,
    policy: policy ?? null,
  }
}

/** Number of attempts when another writer has used the version number. */
const ATTEMPTS = 5

/**
 * POST /admin/boundary-policies
 * Signs the intent as the next version and stores it inactive. It has no effect until it is activated.
 */
export async function publish(call: OperatorCall, parts: BoundaryPoliciesState): Promise<HttpResponse> {
  const request = readIntentRequest(call.body)
  const intent = await requireGood(request, parts.engines, call)
  parts.signing.requireAllowed()
  const now = parts.clock.now()
  const attempt = readAttempt(call, now)
  // Publishers queue, so that versions have no gaps and no publisher has to retry.
  return changePolicies(parts, (tx) =>
    respondOnce(tx, attempt, writeSortable(now), async () => {
      await insertTexts(tx, request.texts, writeSortable(now))
      const { text, version, policy_digest } = await storeNext(tx, parts, intent, now)
      const warnings = findPolicyWarnings(intent).map(({ code }) => code)
      const warned = warnings.length === 0 ? {} : { warnings }
      const details = { policy_id: intent.policy_id, version, policy_digest, ...warned, ...requestDetails(call) }
      await parts.audit.record(tx, { type: 'boundary_policy_published', details })
      return { status: 201, text }
    }),
  )
}

interface StoredVersion {
  readonly text: string
  readonly version: number
  readonly policy_digest: string
}

/** The unique key decides. Only a writer without the lock can use the number first. */
async function storeNext(
  tx: Transaction,
  parts: BoundaryPoliciesParts,
  intent: BoundaryPolicyIntent,
  now: Instant,
): Promise<StoredVersion> {
  const { policy_id } = intent
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const version = (await lastVersion(tx.query, policy_id)) + 1
    const facts = { version, issued_by: parts.signing.keyId, issuer_sovereign_id: parts.network.name, now }
    const policy = await parts.signing.signForm(BOUNDARY_POLICY_FORM, draftBoundaryPolicy(intent, facts))
    const [text, policy_digest] = [writeJson(policy), boundaryPolicyDigest(policy)]
    const created_at = writeSortable(now)
    if (await insertVersion(tx, { policy_id, version, policy_json: text, policy_digest, created_at }))
      return { text, version, policy_digest }
  }
  throw new Refusal('boundary_policy_version_conflict')
}
