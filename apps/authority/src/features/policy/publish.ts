import { Refusal } from '@chancery/contract'
import { type PolicyTerms, draftPolicyManifest, isSamePolicy, writeSortable } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { PolicyParts } from './parts.ts'
import { readAttempt, respondOnce } from '../../requests/idempotency.ts'
import { readPublishRequest } from './requests.ts'
import { requireSentSignatures } from './sent-signatures.ts'
import { type StoredPolicy, findActivePolicy, findPolicy } from './queries.ts'
import { activateStored, publishVersion, verifyStored } from './versions.ts'

/**
 * POST /admin/policy
 * Publishes a network policy. Versions never change: the same id with the same content activates the stored version,
 * with other content it is a conflict.
 */
export async function publish(call: OperatorCall, parts: PolicyParts): Promise<HttpResponse> {
  parts.signing.requireAllowed()
  const { policy_id, terms } = readPublishRequest(call.body)
  await requireSentSignatures(call, parts)
  const id = policy_id ?? `policy-${parts.ids.uuid()}`
  const attempt = readAttempt(call, parts.clock.now())
  return parts.database.write(async (tx) => {
    await tx.lock('policy')
    return respondOnce(tx, attempt, writeSortable(parts.clock.now()), async () => {
      const previous = await findActivePolicy(tx.query)
      const stored = await findPolicy(tx.query, id)
      if (stored !== undefined) await requireSameTerms(parts, stored, terms)
      if (stored?.active === 1) return { status: 200, text: stored.policy_json }
      const text =
        stored === undefined
          ? await publishVersion(tx, parts, { policy_id: id, terms, previous })
          : await activateStored(tx, parts, { stored, previous })
      const details = { policy_id: id, previous_policy_id: previous?.policy_id ?? null, ...requestDetails(call) }
      await parts.audit.record(tx, { type: 'policy_published', details })
      return { status: stored === undefined ? 201 : 200, text }
    })
  })
}

/** An id has one content. Signer and time are not compared. */
async function requireSameTerms(parts: PolicyParts, stored: StoredPolicy, terms: PolicyTerms): Promise<void> {
  const verified = await verifyStored(parts, stored)
  const { policy_id, issued_at, issued_by } = verified
  if (!isSamePolicy(verified, draftPolicyManifest({ policy_id, issued_at, issued_by, terms })))
    throw new Refusal('conflict')
}
