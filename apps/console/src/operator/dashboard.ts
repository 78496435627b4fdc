import type { DashboardView } from '@chancery/sdk'
import { at, readPublic } from './client.ts'
import { type LiveValue, SUMMARY_GAP_MS, useLive } from './parts/use-live.ts'
import { createStore } from './store.ts'

/** GET /dashboard.json, with members that the library does not read. */
export type Dashboard = DashboardView & {
  readonly certificates: { readonly issued: number; readonly revoked: number; readonly expiring: number | null }
  readonly revocation_list: {
    readonly sequence: number
    readonly entries: number
    readonly age_minutes: number
    readonly next_update: string
    readonly overdue: boolean
  } | null
}

/** The public summary. The frame reads it for the counts of the navigation; pages use the same value. */
export const dashboard = createStore<LiveValue<Dashboard> | undefined>(undefined)

const TOPICS = ['nodes', 'agents', 'members', 'partners', 'treaties', 'policies', 'evidence'] as const

export function useDashboard(): LiveValue<Dashboard> {
  return useLive('dashboard', (signal) => readPublic<Dashboard>(at`/dashboard.json`, signal), TOPICS, {
    gapMs: SUMMARY_GAP_MS,
  })
}
