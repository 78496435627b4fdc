import { asJson, draftDataLicensePolicy, licensePolicyForm, writeJson, writeSortable } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { DataUsageParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readLicenseRequest } from './requests.ts'
import { insertLicense } from './queries.ts'

/**
 * POST /admin/data-usage/policy
 * Signs the permitted uses of this sovereign's data. They replace those of the same licensee, on all instances.
 */
export async function publish(call: OperatorCall, parts: DataUsageParts): Promise<HttpResponse> {
  const terms = readLicenseRequest(call.body)
  return issueRecord(
    call,
    parts,
    async (tx, now) => {
      const draft = draftDataLicensePolicy({
        ...terms,
        policy_id: parts.ids.uuid(),
        licensor_sovereign_id: parts.network.name,
      })
      const record = await parts.signing.signFormOr('policy_sign_failed', licensePolicyForm, draft)
      const { policy_id } = record
      const previous_policy_id = await insertLicense(tx, {
        policy_id,
        policy_json: writeJson(asJson(record)),
        in_force_for: record.licensee_sovereign_id,
        created_at: writeSortable(now),
      })
      await tx.raiseVersion('data-usage')
      return { record, type: 'data_license_policy_created', details: { policy_id, previous_policy_id } }
    },
    'data-usage',
  )
}
