import { shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { count, flag, text, textOrNull, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, integer, nullable, oneOf, open, optional, required, withDefault } = shape

const word = optional(shape.string)
const codes = arrayOf(shape.string, { max: 100 })

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
    answer: open({ status: text }),
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
    query: { for: shape.string },
    /** All but the status is absent where the authority reports it on its management listener only. */
    answer: open({
      status: text,
      for: optional(oneOf('reads')),
      instance: word,
      ha_mode: word,
      database: optional(
        open({
          backend: text,
          expected_schema_version: whole,
          writable: flag,
          schema_version: required(nullable(count)),
        }),
      ),
      signing_key: optional(
        open({
          key_id: text,
          provider: text,
          fingerprint: text,
          /** The end of its window; null where the authority does not report it. */
          valid_to: textOrNull,
          expires_in_seconds: withDefault(nullable(integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)), null),
        }),
      ),
      rate_limiter: word,
      signing_halted: optional(codes),
      /** Actions for the operator; the authority is still ready. */
      warnings: withDefault(codes, []),
      /** Reported on the machine of the authority only. */
      db_path: word,
    }),
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
    answer: open({
      /** healthy, degraded or unhealthy. */
      status: text,
      /** Empty when it is healthy, and from authorities that do not report them. */
      reasons: withDefault(codes, []),
      network: text,
      version: text,
      boundary_policies: text,
      boundary_policy_enforcement: text,
      evidence_store: text,
    }),
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

export type Liveness = AnswerOf<typeof health.healthz>
export type Readiness = AnswerOf<typeof health.readyz>
export type Health = AnswerOf<typeof health.health>
