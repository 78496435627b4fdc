import { Refusal, recognitionPolicy } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type ReadyPolicy, RecognitionPolicyCache, type RecognitionPolicyParts } from './cache.ts'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { findActivePolicyText, insertActivePolicy } from './queries.ts'
import { type JsonObject, isPlainText, readRecognitionPolicy, writeJson, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { areStrongKeys, readOrRefuse, refuseUnknownMembers } from '../../requests/read-fields.ts'

export { prepare } from './cache.ts'
export type { ReadyPolicy } from './cache.ts'

/**
 * GET /recognition-policy
 * Returns the active recognition policy.
 */
async function current(_call: Call, parts: RecognitionPolicyParts): Promise<HttpResponse> {
  const text = await findActivePolicyText(parts.database.read)
  if (text === undefined) throw new Refusal('recognition_policy_not_configured')
  return jsonText(text)
}

/**
 * POST /admin/recognition-policy
 * Sets the issuers whose attestations this sovereign accepts. It is a local document, which no other party uses.
 */
async function publish(call: OperatorCall, parts: RecognitionPolicyParts): Promise<JsonObject> {
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

export interface RecognitionPolicy extends Feature {
  /** The accepted issuers of attestations, parsed once per change. */
  current(): Promise<ReadyPolicy | undefined>
}

export function openRecognitionPolicy(parts: RecognitionPolicyParts): RecognitionPolicy {
  const cache = new RecognitionPolicyCache()
  return {
    routes: [
      bind(recognitionPolicy.current, (call) => current(call, parts)),
      bind(recognitionPolicy.publish, (call) => publish(call, parts)),
    ],
    jobs: [],
    current: () => cache.current(parts),
    close: () => Promise.resolve(),
  }
}
