import { ERRORS, type Route } from '@chancery/contract'
import { APPROVAL_EVENTS } from '@chancery/protocol'
import { Metrics, createRequestMetrics } from '@chancery/service-kit'
import type { Clock, Counter, Gauge, Histogram, Labelled, MetricFacts, RequestMetrics } from '@chancery/service-kit'

/** Results of a pull of a partner, the least serious first. */
export const PULL_OUTCOMES = [
  'ok',
  'unchanged',
  'unreachable',
  'timeout',
  'redirect',
  'too_large',
  'malformed',
  'unauthentic',
  'mismatch',
  'rollback',
  'equivocation',
  'store_failed',
] as const

/** Counters that handlers raise. Gauges that are read from the database are in features/health/gauges.ts. */
export interface AuthorityMetrics {
  readonly registry: Metrics
  readonly requests: RequestMetrics
  readonly auditWriteFailures: RecentCounter
  /** Rate limit counts made in the database because Redis failed. */
  readonly limiterFallbacks: RecentCounter
  readonly refusalsNotRecorded: Counter
  /** Gathered heartbeats: stored rows, and statements that failed. */
  readonly heartbeatsStored: Counter
  readonly heartbeatStoreFailures: Counter
  /** Versions of the own feed that could not be signed or stored. */
  readonly feedPublishFailures: Counter
  readonly partnerPulls: Labelled<{ outcome: readonly string[] }, Counter>
  readonly partnerFeedImports: Labelled<{ outcome: readonly ['ok', 'failed'] }, Counter>
  /** Reads that a replica may answer. Without a replica none are counted. */
  readonly replicaReads: Labelled<{ answered_by: readonly ['replica', 'primary'] }, Counter>
  readonly clockOffset: Gauge
  readonly keyringsDiffer: Gauge
  readonly signingUnavailable: Gauge
  readonly boundaryDecisions: Labelled<{ asked_by: typeof ASKERS; authorized: readonly ['true', 'false'] }, Counter>
  readonly approvals: Labelled<{ event: typeof APPROVAL_EVENTS }, Counter>
  /** From the opening of an approval to the statement that decides it. */
  readonly approvalWait: Histogram
  readonly approvalWebhook: Labelled<{ outcome: readonly ['ok', 'failed'] }, Counter>
  readonly budgetSteps: Labelled<{ outcome: typeof BUDGET_OUTCOMES }, Counter>
  /** From the moment a decision waits for its counters until it has them. */
  readonly budgetLockSeconds: Histogram
  readonly budgetMismatches: Counter
  readonly boundaryRefusals: Labelled<{ code: readonly string[] }, Counter>
  /** Results of verify routes, which write no row. */
  readonly verifications: Labelled<{ route: readonly string[]; accepted: readonly ['true', 'false'] }, Counter>
}

/** Results of budgets in stored decisions. */
export const BUDGET_OUTCOMES = ['pass', 'fail', 'missing_context', 'invalid_context', 'gate_error'] as const

/** Who asked for a decision. */
export const ASKERS = ['operator', 'node', 'partner_node', 'relay'] as const
export type Asker = (typeof ASKERS)[number]

/** A counter with the time of its last increment. */
export interface RecentCounter extends Counter {
  isRecent(withinMs: number): boolean
}

function recent(counter: Counter, clock: Pick<Clock, 'monotonicMs'>): RecentCounter {
  let raisedMs: number | undefined
  return {
    increase(by) {
      raisedMs = clock.monotonicMs()
      counter.increase(by)
    },
    isRecent: (withinMs) => raisedMs !== undefined && clock.monotonicMs() - raisedMs < withinMs,
  }
}

// oxlint-disable-next-line max-lines-per-function -- one entry per metric
export function createMetrics(routes: readonly Route[], clock: Pick<Clock, 'monotonicMs'>): AuthorityMetrics {
  const registry = new Metrics()
  const recentCounter = (facts: MetricFacts): RecentCounter => recent(registry.counter(facts), clock)
  return {
    registry,
    requests: createRequestMetrics(
      registry,
      routes.map((route) => route.id),
    ),
    verifications: registry.counter({
      name: 'chancery_verifications_total',
      help: 'Results of the verify routes.',
      labels: { route: routes.map((route) => route.id), accepted: ['true', 'false'] as const },
    }),
    boundaryDecisions: registry.counter({
      name: 'chancery_boundary_decisions_total',
      help: 'Signed decisions, by the kind of caller.',
      labels: { asked_by: ASKERS, authorized: ['true', 'false'] as const },
    }),
    budgetSteps: registry.counter({
      name: 'chancery_budget_steps_total',
      help: 'Results of budgets in stored decisions.',
      labels: { outcome: BUDGET_OUTCOMES },
    }),
    budgetLockSeconds: registry.histogram({
      name: 'chancery_budget_lock_seconds',
      help: 'Time until a decision has the locks of its counters.',
      buckets: [0.005, 0.02, 0.1, 0.5, 2],
    }),
    budgetMismatches: registry.counter({
      name: 'chancery_budget_state_mismatches_total',
      help: 'Counters that differed from the evidence store and were repaired.',
    }),
    boundaryRefusals: registry.counter({
      name: 'chancery_boundary_request_refusals_total',
      help: 'Refused requests of nodes for a decision.',
      labels: { code: Object.keys(ERRORS) },
    }),
    ...createStoreMetrics(registry),
    ...createApprovalMetrics(registry),
    partnerPulls: registry.counter({
      name: 'chancery_partner_pulls_total',
      help: 'Pulls of partners by outcome.',
      labels: { outcome: PULL_OUTCOMES },
    }),
    partnerFeedImports: registry.counter({
      name: 'chancery_partner_feed_imports_total',
      help: 'Imports of feeds and feed parts of partners.',
      labels: { outcome: ['ok', 'failed'] as const },
    }),
    replicaReads: registry.counter({
      name: 'chancery_replica_reads_total',
      help: 'Reads that a replica may answer, by the server that answered.',
      labels: { answered_by: ['replica', 'primary'] as const },
    }),
    clockOffset: registry.gauge({
      name: 'chancery_clock_offset_seconds',
      help: 'Seconds that this clock is ahead of the database clock.',
    }),
    signingUnavailable: registry.gauge({
      name: 'chancery_signing_unavailable',
      help: 'Whether a key of the authority cannot sign: its token or key service does not respond.',
    }),
    keyringsDiffer: registry.gauge({
      name: 'chancery_instances_with_other_operators',
      help: 'Running instances whose operator keys or tiers differ from those of this one.',
    }),
    refusalsNotRecorded: registry.counter({
      name: 'chancery_audit_refusals_not_recorded_total',
      help: 'Refused callers above the limit of audit rows per minute.',
    }),
    limiterFallbacks: recentCounter({
      name: 'chancery_limiter_fallbacks_total',
      help: 'Rate limit counts made in the database because Redis failed.',
    }),
    auditWriteFailures: recentCounter({
      name: 'chancery_audit_write_failures_total',
      help: 'Audit events that could not be stored since start.',
    }),
  }
}

/** Requests that wait for a person. No label names one. */
function createApprovalMetrics(
  registry: Metrics,
): Pick<AuthorityMetrics, 'approvals' | 'approvalWait' | 'approvalWebhook'> {
  return {
    approvals: registry.counter({
      name: 'chancery_approvals_total',
      help: 'Events of requests that wait for a person.',
      labels: { event: APPROVAL_EVENTS },
    }),
    approvalWait: registry.histogram({
      name: 'chancery_approval_wait_seconds',
      help: 'Time from a held request to the statement that approves or denies it.',
      buckets: [10, 60, 300, 900, 3600, 14_400, 86_400, 604_800],
    }),
    approvalWebhook: registry.counter({
      name: 'chancery_approval_webhook_total',
      help: 'Calls of the approval webhook.',
      labels: { outcome: ['ok', 'failed'] as const },
    }),
  }
}

/** What was stored, and what could not be stored. */
function createStoreMetrics(
  registry: Metrics,
): Pick<AuthorityMetrics, 'feedPublishFailures' | 'heartbeatsStored' | 'heartbeatStoreFailures'> {
  return {
    feedPublishFailures: registry.counter({
      name: 'chancery_feed_publish_failures_total',
      help: 'Versions of the own revocation feed that could not be signed or stored.',
    }),
    heartbeatsStored: registry.counter({
      name: 'chancery_heartbeats_stored_total',
      help: 'Rows of gathered heartbeats written to the database.',
    }),
    heartbeatStoreFailures: registry.counter({
      name: 'chancery_heartbeat_store_failures_total',
      help: 'Statements of gathered heartbeats that failed. Their rows are stored again.',
    }),
  }
}
