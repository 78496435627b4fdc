import { type Routes, routes } from '../route.ts'

const facts = {
  healthz: {
    id: 'GET /healthz',
    access: 'public',
    limit: 'none',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Liveness',
    purpose: 'Reports that the process responds, without a check of any dependency.',
  },
  readyz: {
    id: 'GET /readyz',
    access: 'public',
    limit: 'none',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Readiness',
    purpose: 'Reports whether database, schema and signing key allow this instance to serve.',
    errors: ['service_not_ready'],
    query: ['for'],
    gateway: { operation: 'health-readyz', group: 'network' },
  },
  health: {
    id: 'GET /health',
    access: 'public',
    limit: 'none',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Health summary',
    purpose: 'Shows the network, its version and the state of boundary policies and evidence store.',
    gateway: { operation: 'health-health', group: 'network' },
  },
  // Not gated by the service: the deployment keeps it on a management interface.
  metrics: {
    id: 'GET /metrics',
    access: 'internal',
    limit: 'none',
    stability: 'beta',
    success: 200,
    response: 'prometheus',
    summary: 'Prometheus metrics',
    purpose: 'Gives aggregate counters and gauges for a monitoring system.',
  },
} as const

/** Probes and counters. Never limited: a refused probe would look like a dead process (protocol/core 21, 22.1). */
export const health: Routes<typeof facts> = routes(facts)
