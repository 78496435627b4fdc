import { type RecognitionPolicy, visible } from '@chancery/protocol'
import { plural } from '../../output/plural.ts'
import type { Style } from '../../output/style.ts'
import { table } from '../../output/table.ts'

/** Returns a recognition policy as text: each issuer with what is accepted of it. */
export function describeRecognition(policy: RecognitionPolicy, style: Style): string {
  const rows = policy.recognized_issuers.map((issuer) => [
    visible(issuer.sovereign_id),
    plural(issuer.public_keys.length, 'key'),
    issuer.allowed_roles.map((role) => visible(role)).join(', ') || 'none',
    (issuer.accepted_statuses ?? []).map((status) => visible(status)).join(', ') || '-',
  ])
  const revoked = plural((policy.revoked_attestation_ids ?? []).length, 'attestation')
  const end = `${revoked} revoked by this policy.`
  if (rows.length === 0) return `No issuer is recognised.\n${end}`
  return `${table(['ISSUER', 'KEYS', 'ROLES', 'STATUSES'], rows, style)}\n${end}`
}
