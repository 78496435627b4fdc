import type { Limit } from './route.ts'

/** What a counter is kept for. IPv6 addresses count by their /64: a single host owns that many. */
export type LimitKey = 'address' | 'address-and-key' | 'node-key'

export interface Limiter {
  /** Environment name of the setting. */
  readonly setting: string
  /** Calls per window when nothing is set. */
  readonly default: number
  /** A smaller setting refuses the start. 0 means off, which only the public limiter may be. */
  readonly minimum: 0 | 1
  /** shared: instances count together when they share a store. process: never leaves the process. */
  readonly store: 'shared' | 'process'
  /** Each kind is a counter of its own; the first full one refuses. */
  readonly keys: readonly LimitKey[]
  /** Every route has its own counter instead of one for all routes of the limiter. */
  readonly perRoute: boolean
}

export const WINDOW_SECONDS = 60

/** Sent with every 429 (protocol/core 3). */
export const RETRY_AFTER_SECONDS = 60

/** protocol/core 21. The window is WINDOW_SECONDS for all. */
export const LIMITERS = {
  admin: {
    setting: 'NA_RATE_LIMIT_ADMIN_PER_MINUTE',
    default: 30,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  // Counts failures only. The key counts beside the address once its id is known to be configured.
  admin_auth_failed: {
    setting: 'NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE',
    default: 30,
    minimum: 1,
    store: 'shared',
    keys: ['address', 'address-and-key'],
    perRoute: false,
  },
  verify: {
    setting: 'NA_RATE_LIMIT_VERIFY_PER_MINUTE',
    default: 60,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: true,
  },
  evidence: {
    setting: 'NA_RATE_LIMIT_EVIDENCE_PER_MINUTE',
    default: 120,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  read: {
    setting: 'NA_RATE_LIMIT_READ_PER_MINUTE',
    default: 120,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  join: {
    setting: 'NA_RATE_LIMIT_JOIN_PER_MINUTE',
    default: 10,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  // Counts failed invite checks; a valid token is never refused by it.
  'join-token-fail': {
    setting: 'NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE',
    default: 3,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  discover: {
    setting: 'NA_RATE_LIMIT_DISCOVER_PER_MINUTE',
    default: 30,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  node: {
    setting: 'NA_RATE_LIMIT_NODE_PER_MINUTE',
    default: 600,
    minimum: 1,
    store: 'shared',
    keys: ['address'],
    perRoute: false,
  },
  // Spent only after the proof verified, so that nobody can spend it for another node.
  'node-key': {
    setting: 'NA_RATE_LIMIT_NODE_KEY_PER_MINUTE',
    default: 30,
    minimum: 1,
    store: 'shared',
    keys: ['node-key'],
    perRoute: false,
  },
  // A public read must not cause a write, so it is never counted in a shared store.
  public: {
    setting: 'NA_RATE_LIMIT_PUBLIC_PER_MINUTE',
    default: 600,
    minimum: 0,
    store: 'process',
    keys: ['address'],
    perRoute: false,
  },
} as const

export type LimiterName = keyof typeof LIMITERS

/** The limiter of this name. */
export function limiterOf(name: LimiterName): Limiter {
  return LIMITERS[name]
}

/** The limiter a route's `limit` fact names; undefined for 'none'. */
export function limiterOfRoute(limit: Limit): Limiter | undefined {
  return limit === 'none' ? undefined : LIMITERS[limit]
}

/** Bounds of the protocol (protocol/core 3, 21, 24); the wire depends on them. */
export const LIMITS = {
  requestBodyBytes: 2_097_152,
  /** Feed import reads this many times the configured body limit. */
  feedBodyFactor: 4,
  /** Join, heartbeat, renew and agent delete: small records, sent by anyone. */
  nodeBodyBytes: 65_536,
  /** Request line and headers together. */
  requestHeadBytes: 16_384,
  /** Admin and node timestamps, delete envelope, attestation, treaty and certificate windows, descriptor start. */
  clockToleranceSeconds: 300,
  /** A nonce row lives this long after its signed timestamp; deleting earlier reopens the replay window. */
  nonceKeptSeconds: 360,
  activeNodeWindowSeconds: 300,
  agentLifetimeMaxSeconds: 86_400,
  agentLifetimeUsualSeconds: 600,
  crlValidityHours: 24,
  crlRefreshMarginHours: 12,
  crlEntryKeptHours: 1,
  renewalGraceSeconds: 900,
  treatyWarningHours: 72,
  treatyHighRiskHours: 24,
  /** Default and maximum. */
  listPageRows: 1000,
  listOffsetMax: 10_000,
  /** `total` is exact up to here and null above. */
  listCountMax: 10_000,
  feedIds: 50_000,
  jsonDepth: 64,
} as const

/** What one process takes on; the wire does not depend on these. */
export const SERVER_LIMITS = {
  /** Above it 503, so that a queue never grows without end. */
  inFlightRequests: 256,
  connections: 2000,
  /** Of one address, when no proxy stands in front. */
  connectionsPerAddress: 1000,
  /** Bodies being read, all requests together. */
  bufferedBodyBytes: 67_108_864,
  /** An answer nobody reads on is given up after so long without progress. */
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
} as const

/** How much one JSON body may hold, by the `readLimit` fact of its route. */
export const READ_LIMITS = {
  normal: { values: 50_000, namesPerObject: 10_000 },
  large: { values: 250_000, namesPerObject: 50_000 },
} as const
