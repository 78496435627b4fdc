import { once } from 'node:events'
import { WINDOW_SECONDS } from '@chancery/contract'
import { restoreFastStrings } from '@chancery/service-kit'
import type { Redis } from 'ioredis'
import type { WindowHits } from './shared-limiter.ts'
import type { WindowCounts } from './shared-limiter.ts'

/**
 * Reliability 14. A longer call is cancelled. It does not matter whether it counted, because the database counts then.
 */
const CALL_MS = 100
const CONNECT_MS = 1000
/** Stored past the end of its window, for instances whose clocks differ slightly. */
const CACHED_SECONDS = 2 * WINDOW_SECONDS
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 2000

/** One script, so that no key is ever left without its expiry: a counter without one would refuse permanently. */
const ADD_HITS = `local totals = {}
for i, key in ipairs(KEYS) do
  totals[i] = redis.call('INCRBY', key, ARGV[i + 1])
  if totals[i] == tonumber(ARGV[i + 1]) then redis.call('EXPIRE', key, ARGV[1]) end
end
return totals`

/**
 * Windows as Redis keys below `prefix`, which names the authority: several may use one server. Calls never wait for a
 * connection: without one each call fails immediately, and the client reconnects in the background.
 */
export async function openRedisCounts(url: string, prefix: string): Promise<WindowCounts> {
  // Loaded where it is used: a single instance counts in memory.
  const { Redis: Client } = await import('ioredis')
  // The client has a class that extends String.
  restoreFastStrings()
  const redis = new Client(url, {
    connectTimeout: CONNECT_MS,
    commandTimeout: CALL_MS,
    enableOfflineQueue: false,
    // A hit without a response must not be sent again when the server is back.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(FIRST_RETRY_MS * attempt, MAX_RETRY_MS),
    connectionName: 'chancery-authority',
  })
  // Every failure reaches the caller of its command. Without a listener the client would print it.
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

/** Waits until the server responded or refused, for at most a second, so that the first request finds a known state. */
async function firstAttempt(redis: Redis): Promise<void> {
  const signal = AbortSignal.timeout(CONNECT_MS)
  const ends = ['ready', 'close'].map((event) => once(redis, event, { signal }))
  // In any case: the fallback handles an unavailable server.
  await Promise.race(ends).catch(() => undefined)
  for (const end of ends) end.catch(() => undefined)
}

/** A response that the script cannot give is not a count: the database counts instead. */
function readTotals(totals: unknown, length: number): number[] {
  if (!Array.isArray(totals) || totals.length !== length) throw new TypeError('Redis returned no totals')
  return totals.map((total) => readTotal(total))
}

function readTotal(value: unknown): number {
  const total = Number(value ?? 0)
  if (!Number.isSafeInteger(total) || total < 0) throw new TypeError('Redis returned no count')
  return total
}
