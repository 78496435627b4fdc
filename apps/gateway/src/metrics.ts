import { ALL_ROUTES } from '@chancery/contract'
import { type Counter, type Histogram, type Labelled, Metrics } from '@chancery/service-kit'

const BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1] as const
const RESULTS = ['trusted', 'untrusted'] as const
export const CHECK_RESULTS = ['allowed', 'unproven', 'refused', 'unavailable'] as const
const RELOADS = ['applied', 'refused'] as const
const FOLLOWED = ['followed', 'refused'] as const
export const UPSTREAM_OUTCOMES = [
  'answered',
  'unreachable',
  'timeout',
  'redirect',
  'error',
  'too_large',
  'invalid',
] as const
const GROUPS = [...new Set(ALL_ROUTES.flatMap(({ gateway }) => (gateway === undefined ? [] : [gateway.group])))]

/** Counters of protocol/gateway 10. Labels come from configuration or fixed sets; client ids are never labels. */
export interface GatewayMetrics {
  readonly registry: Metrics
  readonly requests: Counter
  readonly failures: Counter
  readonly denied: Counter
  readonly throttled: Counter
  readonly quotaDenied: Counter
  readonly refusalsNotRecorded: Counter
  readonly duration: Histogram
  readonly decisions: Labelled<{ readonly result: typeof RESULTS }, Counter>
  readonly reloads: Labelled<{ readonly outcome: typeof RELOADS }, Counter>
  readonly followed: Labelled<{ readonly outcome: typeof FOLLOWED }, Counter>
  readonly upstreamRequests: Labelled<
    { readonly group: readonly string[]; readonly outcome: typeof UPSTREAM_OUTCOMES },
    Counter
  >
  readonly upstreamDuration: Histogram
  readonly checks: Labelled<{ readonly result: typeof CHECK_RESULTS }, Counter>
  readonly checkDuration: Histogram
}

export function createMetrics(version: string): GatewayMetrics {
  const registry = new Metrics()
  const counter = (name: string, help: string): Counter => registry.counter({ name, help })
  const metrics: GatewayMetrics = {
    registry,
    requests: counter('gateway_requests_total', 'Requests of every kind.'),
    failures: counter('gateway_failures_total', 'Responses with a 5xx status.'),
    denied: counter('gateway_denied_total', 'Failed authentications.'),
    throttled: counter('gateway_auth_throttled_total', 'Requests throttled after failed authentications.'),
    quotaDenied: counter('gateway_quota_denied_total', 'Requests refused by a quota.'),
    refusalsNotRecorded: counter(
      'gateway_audit_refusals_not_recorded_total',
      'Refused requests that could not be written to the audit.',
    ),
    duration: registry.histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Time from the head of a request to its response.',
      buckets: BUCKETS,
    }),
    decisions: registry.counter({
      name: 'gateway_trust_decisions_total',
      help: 'Verified certificates.',
      labels: { result: RESULTS },
    }),
    reloads: registry.counter({
      name: 'gateway_policy_reloads_total',
      help: 'Reloads of the configuration.',
      labels: { outcome: RELOADS },
    }),
    followed: registry.counter({
      name: 'gateway_key_follow_total',
      help: 'Key successions that were followed, and offers of keys that the pinned root key does not lead to.',
      labels: { outcome: FOLLOWED },
    }),
    upstreamRequests: registry.counter({
      name: 'gateway_upstream_requests_total',
      help: 'Operations forwarded to authorities.',
      labels: { group: GROUPS, outcome: UPSTREAM_OUTCOMES },
    }),
    upstreamDuration: registry.histogram({
      name: 'gateway_upstream_duration_seconds',
      help: 'Response time of authorities.',
      buckets: BUCKETS,
    }),
    ...checkMetrics(registry),
  }
  for (const result of RESULTS) metrics.decisions.with({ result })
  for (const outcome of RELOADS) metrics.reloads.with({ outcome })
  for (const outcome of FOLLOWED) metrics.followed.with({ outcome })
  for (const group of GROUPS) metrics.upstreamRequests.with({ group, outcome: 'answered' })
  registry.rows({
    name: 'gateway_build_info',
    help: 'The running release.',
    kind: 'gauge',
    labels: ['version'],
    collect: () => [{ labels: { version }, value: 1 }],
  })
  return metrics
}

function checkMetrics(registry: Metrics): Pick<GatewayMetrics, 'checks' | 'checkDuration'> {
  const checks = registry.counter({
    name: 'gateway_checks_total',
    help: 'Requests that reverse proxies asked about.',
    labels: { result: CHECK_RESULTS },
  })
  for (const result of CHECK_RESULTS) checks.with({ result })
  const checkDuration = registry.histogram({
    name: 'gateway_check_duration_seconds',
    help: 'Time from the head of a check to its response.',
    buckets: BUCKETS,
  })
  return { checks, checkDuration }
}
