import { Refusal } from '@chancery/contract'
import {
  BOUNDARY_POLICY_FORM,
  boundaryPolicyDigest,
  draftBoundaryPolicy,
  findPolicyWarnings,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { BoundaryPolicyIntent, Instant } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import { readAttempt, respondOnce } from '../../requests/idempotency.ts'
import { changePolicies } from './change.ts'
import { requireGood } from './check-engines.ts'
import { readIntentRequest } from './requests.ts'
import { insertTexts, insertVersion, lastVersion } from './queries.ts'

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
