import type { NodeState } from '@chancery/sdk/authority'
import type { ShapeName, Tone } from '../../parts/icons.ts'

interface ShownState {
  readonly shape: ShapeName
  readonly tone: Tone
  readonly word: string
}

const STATES: Readonly<Record<NodeState, ShownState>> = {
  active: { shape: 'circle', tone: 'good', word: 'Active' },
  ends_soon: { shape: 'half', tone: 'urgent', word: 'Ends within 24 h' },
  silent: { shape: 'ring', tone: 'watch', word: 'Silent' },
  superseded: { shape: 'dash', tone: 'ended', word: 'Superseded' },
  revoked: { shape: 'cross', tone: 'ended', word: 'Revoked' },
  expired: { shape: 'dash', tone: 'ended', word: 'Expired' },
}

/** Returns the shape and the word of a state. A state of a newer authority is shown by its name. */
export function nodeState(state: string): ShownState {
  return Object.hasOwn(STATES, state)
    ? STATES[state as NodeState]
    : { shape: 'dashed', tone: 'ended', word: state.replaceAll('_', ' ') }
}
