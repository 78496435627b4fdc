import { once } from 'node:events'
import { WINDOW_SECONDS } from '@chancery/contract'
import { Redis } from 'ioredis'
import type { WindowHits } from './shared-limiter.ts'
import type { WindowCounts } from './shared-limiter.ts'

/** Reliability 14. A call that takes longer is given up; whether it counted does not matter, the database counts then. */
const CALL_MS = 100
const CONNECT_MS = 1000
/** Kept past the end of its window, for instances whose clocks differ a little. */
const CACHED_SECONDS = 2 * WINDOW_SECONDS
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 2000

/** One script, so that no key is ever left without its end: a counter that never expires would refuse for ever. */
const ADD_HITS = `local totals = {}
for i, key in ipairs(KEYS) do
  totals[i] = redis.call('INCRBY', key, ARGV[i + 1])
  if totals[i] == tonumber(ARGV[i + 1]) then redis.call('EXPIRE', key, ARGV[1]) end
end
return totals`

/**
 * Windows as Redis keys below `prefix`, which names the authority: two of them may use one server. Once opened it never
 * waits: without a connection each call fails at once, and the connection is sought in the background.
 */
export async function openRedisCounts(url: string, prefix: string): Promise<WindowCounts> {
  const redis = new Redis(url, {
    connectTimeout: CONNECT_MS,
    commandTimeout: CALL_MS,
    enableOfflineQueue: false,
    // A hit that was sent and not answered must not be sent once more when the server is back.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(FIRST_RETRY_MS * attempt, MAX_RETRY_MS),
    connectionName: 'chancery-authority',
  })
  // Every failure reaches the caller of the command it hit; without a listener the client would print it.
  redis.on('error', () => undefined)
  await firstAttempt(redis)
  const keyOf = (bucket: string, windowStart: number): string => `${prefix}:${windowStart}:${bucket}`
  return {
    name: 'redis',
    async add(rows: readonly WindowHits[]) {
      const keys = rows.map((row) => keyOf(row.bucket, row.windowStart))
      const totals: unknown = await redis.eval(
        ADD_HITS,
        keys.length,
        ...keys,
        CACHED_SECONDS,
        ...rows.map((row) => row.hits),
      )
      return readTotals(totals, rows.length)
    },
    async read(bucket, windowStart) {
      return readTotal(await redis.get(keyOf(bucket, windowStart)))
    },
    async close() {
      redis.disconnect()
    },
  }
}

/** Until the server answered or refused, for at most a second: the first request then finds what there is. */
async function firstAttempt(redis: Redis): Promise<void> {
  const signal = AbortSignal.timeout(CONNECT_MS)
  const ends = ['ready', 'close'].map((event) => once(redis, event, { signal }))
  // However it ends: a server that is away is what the fallback is for.
  await Promise.race(ends).catch(() => undefined)
  for (const end of ends) end.catch(() => undefined)
}

/** An answer that is not what the script gives is no count: whoever answers there, the database counts instead. */
function readTotals(totals: unknown, length: number): number[] {
  if (!Array.isArray(totals) || totals.length !== length) throw new TypeError('Redis gave no totals')
  return totals.map((total) => readTotal(total))
}

function readTotal(value: unknown): number {
  const total = Number(value ?? 0)
  if (!Number.isSafeInteger(total) || total < 0) throw new TypeError('Redis gave no count')
  return total
}
