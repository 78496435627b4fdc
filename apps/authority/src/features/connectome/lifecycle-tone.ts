import type { LifecycleState, RecognitionEdge } from '@chancery/protocol'
import type { Tone } from '../../pages/parts.ts'

const TONES: Readonly<Record<LifecycleState, Tone>> = {
  active: 'good',
  expiring_soon: 'watch',
  expired: 'bad',
  revoked: 'ended',
  replaced: 'ended',
}

/** How a page colours a treaty. */
export function lifecycleTone(state: LifecycleState): Tone {
  return TONES[state]
}

/** How a map draws one: those that end within a day stand out from those that end within three. */
export function edgeTone({ lifecycle_state, expiry_risk }: RecognitionEdge): Tone | 'urgent' {
  return lifecycle_state === 'expiring_soon' && expiry_risk === 'high' ? 'urgent' : TONES[lifecycle_state]
}
