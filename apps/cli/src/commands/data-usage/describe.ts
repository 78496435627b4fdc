import type { DataAccessIntent, DataLicensePolicy } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'
import { plural } from '../../output/plural.ts'

export function describeLicense(policy: DataLicensePolicy, style: Style): string {
  const { max_volume_bytes_per_session: cap } = policy
  return fields(
    [
      ['policy', policy.policy_id],
      ['licensor', policy.licensor_sovereign_id],
      ['licensee', policy.licensee_sovereign_id],
      ['sources', policy.allowed_source_ids.join(', ') || 'none: nothing is licensed'],
      ['access', policy.allowed_access_types.join(', ') || 'read'],
      ['volume', cap === null ? 'unlimited' : `up to ${plural(cap, 'byte')} a session`],
      ['prohibited', policy.prohibited_classification_tags.join(', ') || '-'],
      ['valid', `${policy.valid_from} to ${policy.valid_until}`],
    ],
    style,
  )
}

export function describeIntent(intent: DataAccessIntent, style: Style): string {
  const { estimated_volume_bytes: volume } = intent
  return fields(
    [
      ['intent', intent.intent_id],
      ['agent', intent.agent_sovereign_id],
      ['decision', intent.decision_id],
      ['sources', intent.declared_sources.map(({ source_id }) => source_id).join(', ') || '-'],
      ['access', intent.declared_access_types.join(', ') || '-'],
      ['volume', volume === null ? 'not estimated' : `about ${plural(volume, 'byte')}`],
      ['until', intent.expires_at],
    ],
    style,
  )
}
