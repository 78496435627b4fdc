import type { Job } from '@chancery/service-kit'
import { purgeNonces } from './auth/nonces.ts'
import type { Office } from './office.ts'
import { purgeLimiterWindows } from './store/shared-limiter.ts'

/** Background work; each run is bounded and may be repeated at any time by any instance. */
export function authorityJobs(office: Office): readonly Job[] {
  return [
    { name: 'purge-nonces', everySeconds: 60, run: () => purgeNonces(office.store, office.clock) },
    { name: 'purge-limiter-windows', everySeconds: 60, run: () => purgeLimiterWindows(office.store, office.clock) },
  ]
}
