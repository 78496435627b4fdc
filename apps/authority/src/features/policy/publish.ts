import { Refusal } from '@chancery/contract'
import { draftPolicyManifest, isSamePolicy } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { requireSigningWindow } from '../../signing/seal.ts'
import { readPublishRequest } from './requests.ts'
import { findActivePolicy, findPolicy, toManifest } from './store.ts'
import type { StoredPolicy } from './store.ts'
import { activateStored, publishVersion } from './versions.ts'

/**
 * POST /admin/policy
 * Versions never change: the same id with the same content brings the stored version back into force, with other
 * content it is a conflict.
 */
export async function publish(call: OperatorCall, office: Office): Promise<Answer> {
  const { policy_id, terms } = readPublishRequest(call.body)
  requireSigningWindow(office)
  const id = policy_id ?? `policy-${office.ids.uuid()}`
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'policy')
    const previous = await findActivePolicy(tx)
    const stored = await findPolicy(tx, id)
    if (
      stored !== undefined &&
      !isSamePolicy(toManifest(stored), draftPolicyManifest({ ...signedBy(stored), policy_id: id, terms }))
    ) {
      throw new Refusal('conflict')
    }
    if (stored?.active === 1) return jsonText(stored.policy_json, 200)
    const text =
      stored === undefined
        ? await publishVersion(tx, office, { policy_id: id, terms, previous })
        : await activateStored(tx, office, stored)
    const details = { policy_id: id, previous_policy_id: previous?.policy_id ?? null, ...causedBy(call) }
    await recordAudit(tx, office, { type: 'policy_published', details })
    return jsonText(text, stored === undefined ? 201 : 200)
  })
}

/** Who signed and when takes no part in the comparison; any value does. */
function signedBy(stored: StoredPolicy): { issued_at: string; issued_by: string } {
  const { issued_at, issued_by } = toManifest(stored)
  return { issued_at, issued_by }
}
