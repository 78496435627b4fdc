import { type RecognitionTreaty, SECOND, type TreatyLifecycle, treatyCapabilities } from '@chancery/protocol'
import { describeSpan } from '../../output/durations.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

export function describeTreaty(treaty: RecognitionTreaty, style: Style, lifecycle?: TreatyLifecycle): string {
  const { scope, metadata } = treaty
  const texts = Object.entries(metadata).map(([name, value]) => `${name}=${typeof value === 'string' ? value : '…'}`)
  return fields(
    [
      ['treaty', treaty.treaty_id],
      ['issuer', treaty.issuer_sovereign_id],
      ['recognises', treaty.subject_sovereign_id],
      ['roles', scope.allowed_roles.join(', ') || 'none: no member is accepted'],
      ['statuses', scope.accepted_statuses.join(', ') || 'none: no member is accepted'],
      ['capabilities', treatyCapabilities(scope)?.join(', ') ?? 'none: no decision allows a member anything'],
      ['valid', `${treaty.valid_from} to ${treaty.expires_at}`],
      ...(lifecycle === undefined ? [] : [['state', stateText(lifecycle)] as const]),
      ...treaty.subject_public_keys.map((key) => ['key', key] as const),
      ...(texts.length === 0 ? [] : [['metadata', texts.join(', ')] as const]),
    ],
    style,
  )
}

export function stateText(lifecycle: TreatyLifecycle): string {
  const { state, seconds_until_expiry: left, replacement_treaty_id: next, revocation_reason: reason } = lifecycle
  if (state === 'replaced') return `replaced by ${next ?? '-'}`
  if (state === 'revoked') return `revoked at ${lifecycle.revoked_at ?? '-'} (${reason ?? '-'})`
  if (state === 'expired' || left === null) return state
  const span = describeSpan(BigInt(left) * SECOND)
  return state === 'expiring_soon' ? `ends in ${span}: renew it` : `active, for ${span}`
}
