import type { LifecycleState } from '@chancery/protocol'
import type { Tone } from '../../page-parts.ts'

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
