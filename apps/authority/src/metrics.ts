import type { Route } from '@chancery/contract'
import { Metrics, createRequestMetrics } from '@chancery/service-kit'
import type { Counter, RequestMetrics } from '@chancery/service-kit'

/** Numbers the handlers raise; the gauges that are counted from the database belong to features/health/metrics.ts. */
export interface AuthorityMetrics {
  readonly registry: Metrics
  readonly requests: RequestMetrics
  readonly auditWriteFailures: Counter
}

export function createMetrics(routes: readonly Route[]): AuthorityMetrics {
  const registry = new Metrics()
  return {
    registry,
    requests: createRequestMetrics(
      registry,
      routes.map((route) => route.id),
    ),
    auditWriteFailures: registry.counter({
      name: 'chancery_audit_write_failures_total',
      help: 'Audit events that could not be stored since start.',
    }),
  }
}
