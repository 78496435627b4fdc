import type { Feature } from '../../core.ts'
import type { DashboardParts } from './parts.ts'
import { dashboardRoutes } from './routes.ts'
import { recordActivity } from './activity.ts'

export function openDashboard(parts: DashboardParts): Feature {
  return {
    routes: dashboardRoutes(parts),
    jobs: [
      // Twice a minute, so that no minute is missed when a run is late.
      { name: 'record-activity', everySeconds: 30, run: () => recordActivity(parts) },
    ],
    close: () => Promise.resolve(),
  }
}
