import type { DashboardView } from '@chancery/sdk/authority'
import { at, readPublic } from './client.ts'
import { type LiveValue, SUMMARY_GAP_MS, useLive } from './parts/use-live.ts'
import { createStore } from './store.ts'

/** GET /dashboard.json of this release, which reports the certificates. */
export type Dashboard = DashboardView & { readonly certificates: NonNullable<DashboardView['certificates']> }

/** The public summary. The frame reads it for the counts of the navigation; pages use the same value. */
export const dashboard = createStore<LiveValue<Dashboard> | undefined>(undefined)

const TOPICS = ['nodes', 'agents', 'members', 'partners', 'treaties', 'policies', 'evidence'] as const

export function useDashboard(): LiveValue<Dashboard> {
  return useLive('dashboard', (signal) => readPublic<Dashboard>(at`/dashboard.json`, signal), TOPICS, {
    gapMs: SUMMARY_GAP_MS,
  })
}
