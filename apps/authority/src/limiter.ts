import { MemoryLimiter } from '@chancery/service-kit'
import type { Limiter } from '@chancery/service-kit'
import { StartRefused } from './genesis.ts'
import type { Office } from './office.ts'
import type { AuthoritySettings } from './settings.ts'
import { SharedLimiter, databaseCounts } from './store/shared-limiter.ts'

/** Where limits are counted, as RATE_LIMIT_STORE says. */
export function chooseLimiter(settings: AuthoritySettings, { store, clock }: Pick<Office, 'store' | 'clock'>): Limiter {
  switch (settings.limiterStore) {
    case 'memory':
      return new MemoryLimiter(clock)
    case 'database':
      return new SharedLimiter(databaseCounts(store), clock)
    case 'redis':
      throw new StartRefused('RATE_LIMIT_STORE: redis is not part of this release yet, use database')
  }
}
