import { fromBase64, sha256Hex } from '@chancery/protocol'
import { type Limiter, MemoryLimiter } from '@chancery/service-kit'
import type { Core } from '../core.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { FallbackCounts } from './fallback-counts.ts'
import { openRedisCounts } from './redis-counts.ts'
import { SharedLimiter, databaseCounts } from './shared-limiter.ts'

interface LimiterParts extends Pick<Core, 'database' | 'clock' | 'log' | 'metrics'> {
  /** Prefix of the network, whichever key signs: authorities that share a Redis server count separately. */
  readonly rootPublicKey: string
}

/** Chooses where limits are counted, by RATE_LIMIT_STORE. Redis always falls back to the database: never unlimited. */
export async function chooseLimiter(settings: AuthoritySettings, parts: LimiterParts): Promise<Limiter> {
  const { database, rootPublicKey, clock, log, metrics } = parts
  const { heartbeatMode, limiterStore, redisUrl } = settings
  if (limiterStore === 'memory') return new MemoryLimiter(clock)
  if (limiterStore === 'database' && heartbeatMode === 'gathered')
    log.warn('each heartbeat writes rows of the limiter: set REDIS_URL, or memory with one process', {
      setting: 'RATE_LIMIT_STORE',
    })
  if (limiterStore === 'database' || redisUrl === undefined) return new SharedLimiter(databaseCounts(database), clock)
  const authority = sha256Hex(fromBase64(rootPublicKey) ?? new Uint8Array()).slice(0, 16)
  const redis = await openRedisCounts(redisUrl, `chancery:limit:${authority}`)
  const tools = { clock, log, fallbacks: metrics.limiterFallbacks }
  return new SharedLimiter(new FallbackCounts(redis, databaseCounts(database), tools), clock)
}
