import type { Limit, Route } from './route.ts'

/** What a counter counts. IPv6 addresses count by their /64, because a single host owns that many. */
export type LimitKey = 'address' | 'address-and-key' | 'issuer' | 'node-key' | 'operator-key'

export interface Limiter {
  /** Environment name of the setting. */
  readonly setting: string
  /** Calls per window when nothing is set. */
  readonly default: number
  /** A smaller setting refuses the start. 0 means off, which only the public limiter may be. */
  readonly minimum: 0 | 1
  /** shared: instances count together when they share a store. process: never leaves the process. */
  readonly store: 'shared' | 'process'
  /** Each kind is a separate counter; the first full one refuses. */
  readonly keys: readonly LimitKey[]
  /** Every route has its own counter instead of one for all routes of the limiter. */
  readonly perRoute: boolean
  /** WINDOW_SECONDS when left out. */
  readonly windowSeconds?: number
}

export const WINDOW_SECONDS = 60

/** Sent with every 429 (protocol/core 3), unless the end of a longer window is known. */
export const RETRY_AFTER_SECONDS = 60

/** Largest policy file of a gateway (protocol/gateway 3). It contains the first revocation list of each network. */
export const GATEWAY_POLICY_BYTES = 16_777_216

const SHARED = { minimum: 1, store: 'shared', perRoute: false } as const
const BY_ADDRESS = { ...SHARED, keys: ['address'] } as const
const BY_NODE_KEY = { ...SHARED, keys: ['node-key'] } as const
const BY_OPERATOR_KEY = { ...SHARED, keys: ['operator-key'] } as const

/** protocol/core 21. The window is WINDOW_SECONDS unless stated otherwise. */
export const LIMITERS = {
  admin: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_ADMIN_PER_MINUTE', default: 30 },
  // Reads of operators that protocol/core does not have. Counted after signature and nonce were accepted, so that
  // only the owner of the key can spend it. A call that does not verify counts as a failure of its address.
  operator_read: { ...BY_OPERATOR_KEY, setting: 'NA_RATE_LIMIT_OPERATOR_READ_PER_MINUTE', default: 300 },
  // Decisions that an operator key asks for, such as that of a decision point. Counted like operator_read. The
  // admin limit applies when it is higher: these decisions counted there before, and a raised limit stays in effect.
  operator_decision: { ...BY_OPERATOR_KEY, setting: 'NA_RATE_LIMIT_OPERATOR_DECISION_PER_MINUTE', default: 600 },
  // A revocation spends this when the admin limit of its address is used up. It is spent only after the signature and the
  // nonce were accepted, so that only the owner of the key can spend it.
  revocation: { ...BY_OPERATOR_KEY, setting: 'NA_RATE_LIMIT_REVOCATION_PER_MINUTE', default: 120 },
  // Counts failures only. A configured key id counts in addition to the address.
  admin_auth_failed: {
    ...SHARED,
    keys: ['address', 'address-and-key'],
    setting: 'NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE',
    default: 30,
  },
  verify: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_VERIFY_PER_MINUTE', default: 60, perRoute: true },
  evidence: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_EVIDENCE_PER_MINUTE', default: 120 },
  read: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_READ_PER_MINUTE', default: 120 },
  join: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_JOIN_PER_MINUTE', default: 10 },
  // Counts failed invite checks; a valid token is never refused by it.
  'join-token-fail': { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE', default: 3 },
  discover: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_DISCOVER_PER_MINUTE', default: 30 },
  node: { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_NODE_PER_MINUTE', default: 600 },
  // Spent only after the proof verified, so that no caller can spend it for another node.
  'node-key': { ...BY_NODE_KEY, setting: 'NA_RATE_LIMIT_NODE_KEY_PER_MINUTE', default: 30 },
  // Counted by the certificates that were issued: each renewal leaves one more for the revocation list.
  'renew-key': { ...BY_NODE_KEY, setting: 'NA_RATE_LIMIT_RENEW_PER_KEY_PER_HOUR', default: 6, windowSeconds: 3600 },
  'decision-address': { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_DECISION_ADDRESS_PER_MINUTE', default: 6000 },
  // By the key of the subject. This and the next two count only after a signature verified, so that no caller can spend
  // the limit of another.
  decision: { ...BY_NODE_KEY, setting: 'NA_RATE_LIMIT_DECISION_PER_MINUTE', default: 600 },
  'decision-relay': { ...BY_NODE_KEY, setting: 'NA_RATE_LIMIT_DECISION_RELAY_PER_MINUTE', default: 6000 },
  'decision-issuer': {
    ...SHARED,
    keys: ['issuer'],
    setting: 'NA_RATE_LIMIT_DECISION_ISSUER_PER_MINUTE',
    default: 6000,
  },
  // By address, and by node key after its signature was verified.
  approval: {
    ...SHARED,
    keys: ['address', 'node-key'],
    setting: 'NA_RATE_LIMIT_APPROVAL_PER_MINUTE',
    default: 120,
  },
  // Counts refused requests for a decision; a good request is never refused by it.
  'decision-fail': { ...BY_ADDRESS, setting: 'NA_RATE_LIMIT_DECISION_FAILURES_PER_MINUTE', default: 60 },
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
  /** Routes with `bodyLimit` node or small, and reads: small records, sent by anyone. */
  nodeBodyBytes: 65_536,
  /** A request for a decision may contain an attestation and the proof of a caller. */
  decisionBodyBytes: 131_072,
  /** The context of a decision, in canonical form: it is stored with every decision, denied ones too. */
  contextBytes: 16_384,
  /** Request line and headers together. */
  requestHeadBytes: 16_384,
  /** Admin and node timestamps, delete envelope, attestation, treaty and certificate windows, descriptor start. */
  clockToleranceSeconds: 300,
  /** A nonce row lives this long after its signed timestamp; deleting earlier reopens the replay window. */
  nonceRetentionSeconds: 360,
  activeNodeWindowSeconds: 300,
  /** Readers of revocation lists read this many bytes unless they are set otherwise; the authority warns from half of it on. */
  listReaderBytes: 67_108_864,
  /** Pages of authority and gateway delete an operator key after this time without input. */
  consoleKeyIdleMinutes: 15,
  agentLifetimeMaxSeconds: 86_400,
  agentLifetimeUsualSeconds: 600,
  crlValidityHours: 24,
  crlRefreshMarginHours: 12,
  crlEntryRetentionHours: 1,
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
  /** Verify routes have separate slots, shared by address like the others. */
  verificationsInFlight: 128,
  /**
   * Revocations have separate slots, so that a flood of other calls does not block them. The number is the same as for
   * all other calls together: an operator with many revocations must not be refused earlier than one who invites.
   */
  revocationsInFlight: 256,
  /** Requests with a body of this size or more wait in the queue of their address; on verify routes earlier. */
  queuedBodyBytes: 32_768,
  queuedVerificationBytes: 8192,
  /** Queued requests that run at once, of different addresses and for each kind of route. */
  queuedBodiesAtOnce: 4,
  connections: 2000,
  /** Of one address, without a proxy in front. */
  connectionsPerAddress: 1000,
  /**
   * Memory for bodies, by kind of route: no kind can use up the budget of another, no address (IPv6: /64) that of the
   * others. For the default NA_MAX_REQUEST_BYTES; a larger one makes them larger in proportion.
   */
  bodyBudgets: {
    open: { bytes: 33_554_432, perAddressBytes: 8_388_608 },
    node: { bytes: 8_388_608, perAddressBytes: 2_097_152 },
    operator: { bytes: 25_165_824, perAddressBytes: 16_777_216 },
  },
  /** Requests of one address with a body in memory, in each budget: behind a proxy each uses a shared connection. */
  bodiesPerAddress: 256,
  /** A body with fewer bytes in an interval is refused (408). */
  bodyIntervalBytes: 5120,
  bodyIntervalSeconds: 5,
  /** Pieces of one body: each costs the parser a call, however small it is. */
  bodyPieces: 16_384,
  /** A response that the caller does not read is aborted after this time without progress. */
  responseIdleSeconds: 20,
  /** Memory of answers that their callers have not read. Above it the address with the most loses one. */
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
} as const

/** The budget that the body of a request uses. */
export type BudgetName = keyof typeof SERVER_LIMITS.bodyBudgets

/** Returns the budget by the access of the route: nodes and operators have separate ones. */
export function budgetOf({ access }: Pick<Route, 'access'>): BudgetName {
  if (access === 'node') return 'node'
  return access === 'operator:standard' || access === 'operator:privileged' ? 'operator' : 'open'
}

/** The largest body a route reads (protocol/core 3). */
export function bodyLimitOf(route: Pick<Route, 'method' | 'bodyLimit'>, maxRequestBytes: number): number {
  if (route.method === 'GET' || route.bodyLimit === 'node' || route.bodyLimit === 'small')
    return Math.min(LIMITS.nodeBodyBytes, maxRequestBytes)
  if (route.bodyLimit === 'decision') return Math.min(LIMITS.decisionBodyBytes, maxRequestBytes)
  return route.bodyLimit === 'feed' ? maxRequestBytes * LIMITS.feedBodyFactor : maxRequestBytes
}

/** Maximum values and names of one JSON body, by the `readLimit` fact of its route. */
export const READ_LIMITS = {
  normal: { values: 50_000, namesPerObject: 10_000 },
  large: { values: 250_000, namesPerObject: 50_000 },
  feed: { values: 450_000, namesPerObject: 200_000 },
} as const
