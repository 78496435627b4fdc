import { Refusal } from '@chancery/contract'
import { type JsonObject, isPlainText, readRecognitionPolicy, writeJson, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { RecognitionPolicyParts } from './parts.ts'
import { areStrongKeys, readOrRefuse, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { insertActivePolicy } from './queries.ts'

/**
 * POST /admin/recognition-policy
 * Sets the issuers whose attestations this sovereign accepts. It is a local document, which no other party uses.
 */
export async function publish(call: OperatorCall, parts: RecognitionPolicyParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['recognition_policy', 'policy_id'])
  const policy = readOrRefuse('invalid_recognition_policy', () =>
    readRecognitionPolicy(call.body['recognition_policy'] ?? null),
  )
  if (!(await areStrongKeys(policy.recognized_issuers.flatMap((issuer) => issuer.public_keys))))
    throw new Refusal('invalid_recognition_policy')
  const policy_id = readPolicyId(call.body, policy.local_sovereign_id)
  await parts.database.write(async (tx) => {
    await tx.lock('recognition-policy')
    await insertActivePolicy(tx, policy_id, writeJson(policy), writeSortable(parts.clock.now()))
    await tx.raiseVersion('recognition-policy')
    const details = {
      policy_id,
      local_sovereign_id: policy.local_sovereign_id,
      recognized_issuer_count: policy.recognized_issuers.length,
    }
    await parts.audit.record(tx, {
      type: 'recognition_policy_saved',
      details: { ...details, ...requestDetails(call) },
    })
  })
  return { policy_id, local_sovereign_id: policy.local_sovereign_id, active: true }
}

function readPolicyId(body: JsonObject, local: string): string {
  const given = body['policy_id'] === undefined ? `recognition-${local}` : body['policy_id']
  if (typeof given !== 'string' || !isPlainText(given, 160)) throw new Refusal('invalid_recognition_policy')
  return given
}
