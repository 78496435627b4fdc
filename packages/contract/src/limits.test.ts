import { describe, expect, it } from 'vitest'
import {
  bodyLimitOf,
  type LimiterName,
  limiterOf,
  limiterOfRoute,
  LIMITERS,
  LIMITS,
  READ_LIMITS,
  RETRY_AFTER_SECONDS,
  budgetOf,
  SERVER_LIMITS,
  WINDOW_SECONDS,
} from './limits.ts'
import type { Access } from './route.ts'
import { ALL_ROUTES } from './routes/index.ts'

// protocol/core 21
const DEFAULTS: Readonly<Record<LimiterName, readonly [number, string]>> = {
  admin: [30, 'NA_RATE_LIMIT_ADMIN_PER_MINUTE'],
  operator_read: [300, 'NA_RATE_LIMIT_OPERATOR_READ_PER_MINUTE'],
  operator_decision: [600, 'NA_RATE_LIMIT_OPERATOR_DECISION_PER_MINUTE'],
  revocation: [120, 'NA_RATE_LIMIT_REVOCATION_PER_MINUTE'],
  admin_auth_failed: [30, 'NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE'],
  verify: [60, 'NA_RATE_LIMIT_VERIFY_PER_MINUTE'],
  evidence: [120, 'NA_RATE_LIMIT_EVIDENCE_PER_MINUTE'],
  read: [120, 'NA_RATE_LIMIT_READ_PER_MINUTE'],
  join: [10, 'NA_RATE_LIMIT_JOIN_PER_MINUTE'],
  'join-token-fail': [3, 'NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE'],
  discover: [30, 'NA_RATE_LIMIT_DISCOVER_PER_MINUTE'],
  node: [600, 'NA_RATE_LIMIT_NODE_PER_MINUTE'],
  'node-key': [30, 'NA_RATE_LIMIT_NODE_KEY_PER_MINUTE'],
  'renew-key': [6, 'NA_RATE_LIMIT_RENEW_PER_KEY_PER_HOUR'],
  'decision-address': [6000, 'NA_RATE_LIMIT_DECISION_ADDRESS_PER_MINUTE'],
  decision: [600, 'NA_RATE_LIMIT_DECISION_PER_MINUTE'],
  'decision-relay': [6000, 'NA_RATE_LIMIT_DECISION_RELAY_PER_MINUTE'],
  'decision-issuer': [6000, 'NA_RATE_LIMIT_DECISION_ISSUER_PER_MINUTE'],
  'decision-fail': [60, 'NA_RATE_LIMIT_DECISION_FAILURES_PER_MINUTE'],
  approval: [120, 'NA_RATE_LIMIT_APPROVAL_PER_MINUTE'],
  public: [600, 'NA_RATE_LIMIT_PUBLIC_PER_MINUTE'],
}

const names = Object.keys(LIMITERS) as LimiterName[]

describe('limiters', () => {
  it('have the defaults and settings of the protocol, over 60 seconds, renewals over an hour', () => {
    expect(Object.fromEntries(names.map((name) => [name, [LIMITERS[name].default, LIMITERS[name].setting]]))).toEqual(
      DEFAULTS,
    )
    expect(WINDOW_SECONDS).toBe(60)
    expect(RETRY_AFTER_SECONDS).toBe(60)
    const longer = names.filter((name) => limiterOf(name).windowSeconds !== undefined)
    expect(longer.map((name) => [name, limiterOf(name).windowSeconds])).toEqual([['renew-key', 3600]])
  })

  it('can be turned off and stay in the process only for public reads', () => {
    expect(names.filter((name) => limiterOf(name).minimum === 0)).toEqual(['public'])
    expect(names.filter((name) => limiterOf(name).store === 'process')).toEqual(['public'])
  })

  it('count by address, failed logins also by key, proven nodes and proven withdrawals by their key', () => {
    const unusual = names.filter((name) => limiterOf(name).keys.join() !== 'address')
    const nodes = ['node-key', 'renew-key', 'decision', 'decision-relay'] as const
    const operators = ['operator_read', 'operator_decision', 'revocation'] as const
    expect(unusual).toEqual([...operators, 'admin_auth_failed', ...nodes, 'decision-issuer', 'approval'])
    expect(LIMITERS['decision-issuer'].keys).toEqual(['issuer'])
    expect(LIMITERS.approval.keys).toEqual(['address', 'node-key'])
    for (const name of operators) expect(LIMITERS[name].keys).toEqual(['operator-key'])
    expect(LIMITERS.admin_auth_failed.keys).toEqual(['address', 'address-and-key'])
    for (const name of nodes) expect(LIMITERS[name].keys).toEqual(['node-key'])
  })

  it('give every verify route its own counter', () => {
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
      crlEntryRetentionHours: 1,
      renewalGraceSeconds: 900,
      treatyWarningHours: 72,
      treatyHighRiskHours: 24,
      listPageRows: 1000,
      feedIds: 50000,
      jsonDepth: 64,
    })
  })

  it('keep a nonce longer than its timestamp is accepted', () => {
    expect(LIMITS.nonceRetentionSeconds).toBeGreaterThan(LIMITS.clockToleranceSeconds)
  })

  it('let a full feed or recognition policy through where they arrive', () => {
    // Ids and reasons: two values and one name for each.
    expect(READ_LIMITS.large.values).toBeGreaterThan(2 * LIMITS.feedIds)
    expect(READ_LIMITS.large.namesPerObject).toBeGreaterThanOrEqual(LIMITS.feedIds)
    expect(READ_LIMITS.feed).toEqual({ values: 450_000, namesPerObject: 200_000 })
    expect(READ_LIMITS.normal).toEqual({ values: 50000, namesPerObject: 10000 })
  })

  it('give every kind of route room for its largest body from one address, and for more than one address', () => {
    const max = LIMITS.requestBodyBytes
    for (const route of ALL_ROUTES) {
      const { bytes, perAddressBytes } = SERVER_LIMITS.bodyBudgets[budgetOf(route)]
      expect(bodyLimitOf(route, max), route.id).toBeLessThanOrEqual(perAddressBytes)
      expect(perAddressBytes, route.id).toBeLessThan(bytes)
    }
  })

  it('count bodies of nodes and operators apart from those of unauthenticated callers', () => {
    const roomsOf = (access: Access) => new Set(ALL_ROUTES.filter((one) => one.access === access).map(budgetOf))
    expect(roomsOf('node')).toEqual(new Set(['node']))
    expect(roomsOf('operator:standard')).toEqual(new Set(['operator']))
    expect(roomsOf('operator:privileged')).toEqual(new Set(['operator']))
    for (const access of ['public', 'internal', 'executor', 'public-or-operator:standard'] as const)
      expect(roomsOf(access), access).toEqual(new Set(['open']))
  })

  it('read 64 KiB at most where no more is needed, whatever the setting', () => {
    for (const route of ALL_ROUTES.filter(({ method, bodyLimit }) => method === 'GET' || bodyLimit === 'small'))
      expect(bodyLimitOf(route, 2 ** 28), route.id).toBe(65_536)
  })

  it('bound what one process takes on', () => {
    expect(SERVER_LIMITS).toEqual({
      inFlightRequests: 256,
      verificationsInFlight: 128,
      revocationsInFlight: 256,
      queuedBodyBytes: 32_768,
      queuedVerificationBytes: 8192,
      queuedBodiesAtOnce: 4,
      connections: 2000,
      connectionsPerAddress: 1000,
      bodyBudgets: {
        open: { bytes: 33_554_432, perAddressBytes: 8_388_608 },
        node: { bytes: 8_388_608, perAddressBytes: 2_097_152 },
        operator: { bytes: 25_165_824, perAddressBytes: 16_777_216 },
      },
      bodiesPerAddress: 256,
      bodyIntervalBytes: 5120,
      bodyIntervalSeconds: 5,
      bodyPieces: 16_384,
      responseIdleSeconds: 20,
      unreadAnswerBytes: 268_435_456,
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
