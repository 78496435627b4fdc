import type { LifecycleState, RecognitionEdge } from '@chancery/protocol'
import type { Tone } from '../../pages/parts.ts'

const TONES: Readonly<Record<LifecycleState, Tone>> = {
  active: 'good',
  expiring_soon: 'watch',
  expired: 'bad',
  revoked: 'ended',
  replaced: 'ended',
}

/** The colour of a treaty on a page. */
export function lifecycleTone(state: LifecycleState): Tone {
  return TONES[state]
}

/** The colour of a treaty on a map, which distinguishes the end within one day from the end within three. */
export function edgeTone({ lifecycle_state, expiry_risk }: RecognitionEdge): Tone | 'urgent' {
  return lifecycle_state === 'expiring_soon' && expiry_risk === 'high' ? 'urgent' : TONES[lifecycle_state]
}
