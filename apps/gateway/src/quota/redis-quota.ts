import { createHash, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { getCACertificates } from 'node:tls'
import { type Clock, type Log, restoreFastStrings, toError } from '@chancery/service-kit'
import { MAX_AHEAD, PROOF_MS, QuotaUnavailableError, WINDOW_MS } from './quota.ts'
import type { Quota, QuotaClaim, QuotaResult, SpendResult, SpentProof } from './quota.ts'

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

/**
 * Returns the epoch of the server; begins one with a floor when there is none, or when the server restarted: a snapshot
 * has the epoch of before, without the newest proofs.
 */
const OPEN_EPOCH = `
local id = redis.call('HGET', KEYS[1], 'id')
if id and redis.call('HGET', KEYS[1], 'run') == ARGV[4] then return id end
local floor = id and ARGV[3] or ARGV[2]
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'floor', floor, 'run', ARGV[4])
return ARGV[1]
`

/**
 * Spends a proof and counts its request. Names of spent proofs are lost when the server restarts without persistence. The
 * epoch key is lost with them: a process that finds no epoch, or another one than it knows, raises the floor, up to which
 * every proof counts as spent.
 */
const SPEND = `
local epoch = redis.call('HGET', KEYS[3], 'id')
local floor = tonumber(redis.call('HGET', KEYS[3], 'floor') or '0')
if epoch ~= ARGV[4] then
  epoch = epoch or ARGV[5]
  floor = math.max(floor, tonumber(ARGV[6]))
  redis.call('HSET', KEYS[3], 'id', epoch, 'floor', string.format('%.0f', floor))
end
if tonumber(ARGV[7]) <= floor or redis.call('EXISTS', KEYS[1]) == 1 then return {2, 0, epoch} end
local left = 0
if ARGV[1] ~= '' then
  local used = tonumber(redis.call('GET', KEYS[2]) or '0')
  left = redis.call('PTTL', KEYS[2])
  if used + 1 > tonumber(ARGV[1]) then return {0, left, epoch} end
  redis.call('INCRBY', KEYS[2], 1)
  if left < 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[3])
return {1, left, epoch}
`

const CALL_MS = 1000
const MAX_RECONNECT_MS = 1000

export interface RedisQuotaOptions {
  readonly url: string
  readonly namespace: string
  readonly extraRoots: readonly string[]
  /** The check takes proofs that are dated ahead of the clock. */
  readonly takesAhead: boolean
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

type QuotaRedis = Redis & {
  takeQuota(key: string, limit: number, cost: number, windowMs: number): Promise<[number, number]>
  openEpoch(key: string, id: string, floor: string, restartFloor: string, run: string): Promise<string>
  spendProof(...keysAndValues: (string | number)[]): Promise<[number, number, string]>
}

/** Quotas shared by replicas (protocol/gateway 15). */
export class RedisQuota implements Quota {
  readonly #redis: QuotaRedis
  readonly #namespace: string
  readonly #options: Pick<RedisQuotaOptions, 'takesAhead' | 'clock'>
  /** The epoch that the server had at the last call; empty before the first. */
  #epoch = ''
  /** On this connection. Behind the next one may be a server that restarted. */
  #isEpochOpen = false

  constructor({ url, namespace, extraRoots, log, ...options }: RedisQuotaOptions) {
    this.#namespace = namespace
    this.#options = options
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
    redis.defineCommand('openEpoch', { numberOfKeys: 1, lua: OPEN_EPOCH })
    redis.defineCommand('spendProof', { numberOfKeys: 3, lua: SPEND })
    // The text is of the client library or of the server, and has nothing of a caller.
    redis.on('error', (thrown: unknown) => {
      const error = toError(thrown)
      log.warn('quota backend failed', { error, reason: error.message })
    })
    // A failure is repeated by the first request.
    redis.on('ready', () => void this.#openEpoch().catch(() => undefined))
    redis.on('close', () => void (this.#isEpochOpen = false))
    this.#redis = redis as QuotaRedis
  }

  async claim({ clientId, kind, limit, cost }: QuotaClaim): Promise<QuotaResult> {
    const [granted, leftMs] = await this.#call((redis) =>
      redis.takeQuota(this.#keyOf(clientId, kind), limit, cost, WINDOW_MS),
    )
    return granted === 1 ? undefined : { retryAfterMs: leftMs < 0 ? WINDOW_MS : leftMs }
  }

  async spend({ name, created }: SpentProof, claim?: QuotaClaim): Promise<SpendResult> {
    const known = await this.#openEpoch()
    const nameKey = quotaKey([this.#namespace, name, 'proof'])
    const [result, leftMs, epoch] = await this.#call((redis) =>
      redis.spendProof(
        nameKey,
        claim === undefined ? nameKey : this.#keyOf(claim.clientId, claim.kind),
        this.#epochKey,
        claim?.limit ?? '',
        WINDOW_MS,
        PROOF_MS,
        known,
        randomUUID(),
        String(this.#options.clock.now() + MAX_AHEAD),
        String(created),
      ),
    )
    this.#epoch = epoch
    if (result === 2) return 'replayed'
    return result === 1 ? undefined : { retryAfterMs: leftMs < 0 ? WINDOW_MS : leftMs }
  }

  /**
   * Learns the epoch, at the first connection: what this process does not know it cannot miss later. Each connection
   * compares the run of the server.
   */
  async #openEpoch(): Promise<string> {
    if (this.#isEpochOpen) return this.#epoch
    const { clock, takesAhead } = this.#options
    const now = clock.now()
    const [first, ahead] = [takesAhead ? now + MAX_AHEAD : now, now + MAX_AHEAD].map(String) as [string, string]
    const info = await this.#call((redis) => redis.info('server'))
    const run = /^run_id:(\w+)/m.exec(info)?.[1]
    if (run === undefined) throw new QuotaUnavailableError('the quota backend does not report its run_id')
    const epoch = await this.#call((redis) => redis.openEpoch(this.#epochKey, randomUUID(), first, ahead, run))
    if (this.#epoch === '') this.#epoch = epoch
    this.#isEpochOpen = true
    return this.#epoch
  }

  get #epochKey(): string {
    return quotaKey([this.#namespace, 'epoch', 'proofs'])
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
