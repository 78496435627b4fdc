import { asJson, draftDataLicensePolicy, licensePolicyForm, writeJson, writeSortable } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { bumpHead } from '../../store/heads.ts'
import { readLicenseRequest } from './requests.ts'
import { insertActiveLicense } from './store.ts'

/**
 * POST /admin/data-usage/policy
 * Signs what this sovereign lets its data be used for, and makes it the one active policy of all instances.
 */
export async function publish(call: OperatorCall, office: Office): Promise<Answer> {
  const terms = readLicenseRequest(call.body)
  return issueRecord(
    call,
    office,
    async (tx, now) => {
      const draft = draftDataLicensePolicy({
        ...terms,
        policy_id: office.ids.uuid(),
        licensor_sovereign_id: office.genesis.network_name,
      })
      const record = await sealOr('policy_sign_failed', office, licensePolicyForm, draft)
      const { policy_id } = record
      const previous_policy_id = await insertActiveLicense(tx, {
        policy_id,
        policy_json: writeJson(asJson(record)),
        created_at: writeSortable(now),
      })
      await bumpHead(tx, 'data-usage')
      return { record, type: 'data_license_policy_created', details: { policy_id, previous_policy_id } }
    },
    'data-usage',
  )
}
