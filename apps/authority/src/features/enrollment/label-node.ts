import { Refusal, enrollment } from '@chancery/contract'
import { type JsonObject, readPublicKey } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { transactWithKey } from '../../auth/outlived-key.ts'
import { refuseUnknownMembers } from '../../requests/read-fields.ts'
import { foldLabel, readLabel } from './labels.ts'
import type { EnrollmentParts } from './parts.ts'
import { hasCertificate, removeLabel, storeLabel } from './queries/labels.ts'

/**
 * POST /admin/nodes/label
 * Names a node key for operators, or removes its name.
 */
export async function labelNode(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, enrollment.labelNode.body.names)
  const { node_public_key, label: given = '' } = call.body
  if (typeof node_public_key !== 'string' || readPublicKey(node_public_key) === undefined)
    throw new Refusal('invalid_public_key', { field: 'node_public_key' })
  const label = given === null ? null : readLabel(given)
  await transactWithKey(call, parts, async (tx) => {
    if (!(await hasCertificate(tx.query, node_public_key))) throw new Refusal('node_not_found')
    if (label === null) await removeLabel(tx, node_public_key)
    else await storeLabel(tx, { node_public_key, label, folded: foldLabel(label) })
    const details = { node_public_key, label, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'node_label_set', details })
  })
  return { node_public_key, label }
}
