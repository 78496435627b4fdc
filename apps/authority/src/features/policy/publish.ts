import { Refusal } from '@chancery/contract'
import { draftPolicyManifest, isSamePolicy, writeSortable } from '@chancery/protocol'
import type { PolicyTerms } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { requireSigningWindow } from '../../signing/seal.ts'
import { findAnswer, keepAnswer, readAttempt } from '../../store/idempotency.ts'
import { readPublishRequest } from './requests.ts'
import { requireSentSignatures } from './sent-signatures.ts'
import { findActivePolicy, findPolicy } from './store.ts'
import type { StoredPolicy } from './store.ts'
import { activateStored, publishVersion, verifyStored } from './versions.ts'

/**
 * POST /admin/policy
 * Versions never change: the same id with the same content brings the stored version back into force, with other
 * content it is a conflict.
 */
export async function publish(call: OperatorCall, office: Office): Promise<Answer> {
  const { policy_id, terms } = readPublishRequest(call.body)
  await requireSentSignatures(call, office)
  requireSigningWindow(office)
  const id = policy_id ?? `policy-${office.ids.uuid()}`
  const attempt = readAttempt(call, office.clock.now())
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'policy')
    const earlier = attempt === undefined ? undefined : await findAnswer(tx, attempt, writeSortable(office.clock.now()))
    if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
    const previous = await findActivePolicy(tx)
    const stored = await findPolicy(tx, id)
    if (stored !== undefined) await requireSameTerms(office, stored, terms)
    if (stored?.active === 1) return keep(stored.policy_json, 200)
    const text =
      stored === undefined
        ? await publishVersion(tx, office, { policy_id: id, terms, previous })
        : await activateStored(tx, stored)
    const details = { policy_id: id, previous_policy_id: previous?.policy_id ?? null, ...causedBy(call) }
    await recordAudit(tx, office, { type: 'policy_published', details })
    return keep(text, stored === undefined ? 201 : 200)

    async function keep(answer: string, status: number): Promise<Answer> {
      if (attempt !== undefined) await keepAnswer(tx, attempt, { status, text: answer })
      return jsonText(answer, status)
    }
  })
}

/** A known id stands for one content; who signed it and when takes no part in the comparison. */
async function requireSameTerms(office: Office, stored: StoredPolicy, terms: PolicyTerms): Promise<void> {
  const held = await verifyStored(office, stored)
  const { policy_id, issued_at, issued_by } = held
  if (!isSamePolicy(held, draftPolicyManifest({ policy_id, issued_at, issued_by, terms })))
    throw new Refusal('conflict')
}
