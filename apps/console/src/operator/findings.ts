import type { NetworkFinding, NetworkFindings } from '@chancery/sdk/authority'
import { at, read } from './client.ts'
import { clearOnLock } from './key.ts'
import { type LiveValue, SUMMARY_GAP_MS, useLive } from './parts/use-live.ts'
import { createStore } from './store.ts'

/** What needs attention. The frame reads it for the navigation; the overview and the first steps use the same value. */
export const findings = createStore<LiveValue<NetworkFindings> | undefined>(undefined)
clearOnLock(() => findings.set(undefined))

/** Decisions and agents change no finding. */
const TOPICS = ['nodes', 'invites', 'members', 'partners', 'treaties', 'policies', 'keys'] as const

export function useFindings(): LiveValue<NetworkFindings> {
  const load = (signal: AbortSignal): Promise<NetworkFindings> => read(at`/admin/findings`, {}, signal)
  return useLive('findings', load, TOPICS, { gapMs: SUMMARY_GAP_MS, isTimed: true })
}

/** Warnings that can wait for days. */
const LATER: readonly string[] = ['backup', 'evidence-anchors', 'operator-keys']

export const isForLater = ({ check, status }: Pick<NetworkFinding, 'check' | 'status'>): boolean =>
  status !== 'bad' && LATER.includes(check)
