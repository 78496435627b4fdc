import { describe, expect, it } from 'vitest'
import {
  type LimiterName,
  limiterOf,
  limiterOfRoute,
  LIMITERS,
  LIMITS,
  READ_LIMITS,
  RETRY_AFTER_SECONDS,
  SERVER_LIMITS,
  WINDOW_SECONDS,
} from './limits.ts'
import { ALL_ROUTES } from './routes/index.ts'

// protocol/core 21
const DEFAULTS: Readonly<Record<LimiterName, readonly [number, string]>> = {
  admin: [30, 'NA_RATE_LIMIT_ADMIN_PER_MINUTE'],
  admin_auth_failed: [30, 'NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE'],
  verify: [60, 'NA_RATE_LIMIT_VERIFY_PER_MINUTE'],
  evidence: [120, 'NA_RATE_LIMIT_EVIDENCE_PER_MINUTE'],
  read: [120, 'NA_RATE_LIMIT_READ_PER_MINUTE'],
  join: [10, 'NA_RATE_LIMIT_JOIN_PER_MINUTE'],
  'join-token-fail': [3, 'NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE'],
  discover: [30, 'NA_RATE_LIMIT_DISCOVER_PER_MINUTE'],
  node: [600, 'NA_RATE_LIMIT_NODE_PER_MINUTE'],
  'node-key': [30, 'NA_RATE_LIMIT_NODE_KEY_PER_MINUTE'],
  public: [600, 'NA_RATE_LIMIT_PUBLIC_PER_MINUTE'],
}

const names = Object.keys(LIMITERS) as LimiterName[]

describe('limiters', () => {
  it('have the defaults and settings of the protocol, over 60 seconds', () => {
    expect(Object.fromEntries(names.map((name) => [name, [LIMITERS[name].default, LIMITERS[name].setting]]))).toEqual(
      DEFAULTS,
    )
    expect(WINDOW_SECONDS).toBe(60)
    expect(RETRY_AFTER_SECONDS).toBe(60)
  })

  it('can be turned off and stay in the process only for public reads', () => {
    expect(names.filter((name) => limiterOf(name).minimum === 0)).toEqual(['public'])
    expect(names.filter((name) => limiterOf(name).store === 'process')).toEqual(['public'])
  })

  it('count by address, failed logins also by key, and proven nodes by their key', () => {
    const unusual = names.filter((name) => limiterOf(name).keys.join() !== 'address')
    expect(unusual).toEqual(['admin_auth_failed', 'node-key'])
    expect(LIMITERS.admin_auth_failed.keys).toEqual(['address', 'address-and-key'])
    expect(LIMITERS['node-key'].keys).toEqual(['node-key'])
  })

  it('give every verify route a counter of its own', () => {
    expect(names.filter((name) => limiterOf(name).perRoute)).toEqual(['verify'])
  })

  it('exist for every limit a route names', () => {
    for (const route of ALL_ROUTES) {
      if (route.limit === 'none') expect(limiterOfRoute(route.limit), route.id).toBeUndefined()
      else expect(limiterOfRoute(route.limit), route.id).toBe(LIMITERS[route.limit])
    }
  })
})

describe('other limits', () => {
  it('are those of the protocol', () => {
    expect(LIMITS).toMatchObject({
      requestBodyBytes: 2097152,
      feedBodyFactor: 4,
      nodeBodyBytes: 64 * 1024,
      requestHeadBytes: 16384,
      clockToleranceSeconds: 300,
      activeNodeWindowSeconds: 300,
      agentLifetimeMaxSeconds: 86400,
      crlValidityHours: 24,
      crlRefreshMarginHours: 12,
      crlEntryKeptHours: 1,
      renewalGraceSeconds: 900,
      treatyWarningHours: 72,
      treatyHighRiskHours: 24,
      listPageRows: 1000,
      feedIds: 50000,
      jsonDepth: 64,
    })
  })

  it('keep a nonce longer than its timestamp is accepted', () => {
    expect(LIMITS.nonceKeptSeconds).toBeGreaterThan(LIMITS.clockToleranceSeconds)
  })

  it('let a full feed or recognition policy through where they arrive', () => {
    // Ids and reasons: two values and one name for each.
    expect(READ_LIMITS.large.values).toBeGreaterThan(2 * LIMITS.feedIds)
    expect(READ_LIMITS.large.namesPerObject).toBeGreaterThanOrEqual(LIMITS.feedIds)
    expect(READ_LIMITS.normal).toEqual({ values: 50000, namesPerObject: 10000 })
  })

  it('bound what one process takes on', () => {
    expect(SERVER_LIMITS).toEqual({
      inFlightRequests: 256,
      connections: 2000,
      connectionsPerAddress: 1000,
      bufferedBodyBytes: 67_108_864,
      answerIdleSeconds: 20,
      headersTimeoutSeconds: 10,
      requestTimeoutSeconds: 30,
      keepAliveTimeoutSeconds: 5,
      timeoutCheckIntervalSeconds: 5,
      handlerDeadlineSeconds: 15,
      requestsPerConnection: 1000,
      headerCount: 64,
      queryParameters: 24,
      queryValueBytes: 2048,
    })
  })
})
