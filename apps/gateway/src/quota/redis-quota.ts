import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { getCACertificates } from 'node:tls'
import { restoreFastStrings, toError } from '@chancery/service-kit'
import type { Log } from '@chancery/service-kit'
import { PROOF_MS, QuotaUnavailableError, WINDOW_MS } from './quota.ts'
import type { Quota, QuotaResult, QuotaClaim, SpentProof } from './quota.ts'

// The client has a class that extends String.
restoreFastStrings()

/**
 * One step on the server: of two replicas that claim at once, exactly one gets the last unit. A refused claim changes
 * nothing. A counter without an expiry (because it was removed) gets one again.
 */
const TAKE = `
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local left = redis.call('PTTL', KEYS[1])
if used + tonumber(ARGV[2]) > tonumber(ARGV[1]) then return {0, left} end
redis.call('INCRBY', KEYS[1], ARGV[2])
if left < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return {1, left}
`

const CALL_MS = 1000
const MAX_RECONNECT_MS = 1000

export interface RedisQuotaOptions {
  readonly url: string
  readonly namespace: string
  readonly extraRoots: readonly string[]
  readonly log: Log
}

type QuotaRedis = Redis & {
  takeQuota(key: string, limit: number, cost: number, windowMs: number): Promise<[number, number]>
}

/** Quotas shared by replicas (protocol/gateway 15). */
export class RedisQuota implements Quota {
  readonly #redis: QuotaRedis
  readonly #namespace: string

  constructor({ url, namespace, extraRoots, log }: RedisQuotaOptions) {
    this.#namespace = namespace
    const isSecure = url.startsWith('rediss:')
    const redis = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CALL_MS,
      commandTimeout: CALL_MS,
      retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, MAX_RECONNECT_MS),
      ...(isSecure && extraRoots.length > 0 ? { tls: { ca: [...getCACertificates('default'), ...extraRoots] } } : {}),
    })
    redis.defineCommand('takeQuota', { numberOfKeys: 1, lua: TAKE })
    redis.on('error', (error: unknown) => log.warn('quota backend failed', { error: toError(error) }))
    this.#redis = redis as QuotaRedis
  }

  async claim({ clientId, kind, limit, cost }: QuotaClaim): Promise<QuotaResult> {
    const [granted, leftMs] = await this.#call((redis) =>
      redis.takeQuota(this.#keyOf(clientId, kind), limit, cost, WINDOW_MS),
    )
    return granted === 1 ? undefined : { retryAfterMs: leftMs < 0 ? WINDOW_MS : leftMs }
  }

  async spend({ name }: SpentProof): Promise<boolean> {
    const [granted] = await this.#call((redis) =>
      redis.takeQuota(quotaKey([this.#namespace, name, 'proof']), 1, 1, PROOF_MS),
    )
    return granted === 1
  }

  async probe(): Promise<boolean> {
    try {
      return (await this.#call((redis) => redis.ping())) === 'PONG'
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    this.#redis.disconnect()
  }

  /** Returns the key of a counter (protocol/gateway 15). Requests and certificates of a client have separate keys. */
  #keyOf(clientId: string, kind: QuotaClaim['kind']): string {
    const parts = kind === 'requests' ? [this.#namespace, clientId] : [this.#namespace, clientId, kind]
    return quotaKey(parts)
  }

  async #call<Value>(run: (redis: QuotaRedis) => Promise<Value>): Promise<Value> {
    try {
      return await run(this.#redis)
    } catch (error) {
      // A late response would be read as the response to the next command, so the connection is closed.
      if (this.#redis.status === 'ready') this.#redis.disconnect(true)
      throw new QuotaUnavailableError('the quota backend did not count', { cause: error })
    }
  }
}

export function quotaKey(parts: readonly string[]): string {
  return `gateway:quota:${createHash('sha256').update(parts.join('\0')).digest('hex')}`
}
