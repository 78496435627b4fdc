import type { AttestationRow } from '@chancery/sdk/authority'
import { type ShownState, endState } from './rows.ts'

export function memberState({ status, attestation }: AttestationRow, nowMs: number): ShownState {
  if (status === 'revoked') return { shape: 'cross', tone: 'ended', word: 'Withdrawn' }
  const state = endState(attestation.expires_at, nowMs)
  return state.tone === 'good' ? { ...state, word: 'Active' } : state
}
