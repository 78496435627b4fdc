import { writeInstant } from '@chancery/protocol'
import type { Histogram, Metrics } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import { TOKEN_ALGORITHMS, type TokenKey, signingKeyOf } from '../../policy/token-keys.ts'

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

export type TokenResult = 'issued' | 'reduced' | 'denied' | 'refused' | 'unavailable'

/** Counters whose labels change with the policy. Their values never come from a caller. */
class Rows {
  readonly #values = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()

  constructor(registry: Metrics, name: string, help: string, labels: readonly string[]) {
    registry.rows({ name, help, kind: 'counter', together: 'sum', labels, collect: () => this.#values.values() })
  }

  add(labels: Readonly<Record<string, string>>): void {
    const key = Object.values(labels).join('\0')
    const row = this.#values.get(key)
    if (row === undefined) this.#values.set(key, { labels, value: 1 })
    else row.value += 1
  }
}

export interface TokenMetrics {
  readonly issued: (resource: string, result: TokenResult) => void
  readonly refused: (reason: string) => void
  readonly scope: (resource: string, result: 'granted' | 'denied') => void
  readonly introspected: (resource: string, active: boolean) => void
  readonly duration: Histogram
}

export function createTokenMetrics({ metrics, trust, clock }: Pick<Core, 'metrics' | 'trust' | 'clock'>): TokenMetrics {
  const { registry } = metrics
  const issued = new Rows(registry, 'gateway_tokens_total', 'Token requests by result.', ['resource', 'result'])
  const refused = new Rows(registry, 'gateway_token_refusals_total', 'Refused token requests.', ['reason'])
  const scopes = new Rows(registry, 'gateway_token_scopes_total', 'Scopes by decision.', ['resource', 'result'])
  const asked = new Rows(registry, 'gateway_introspections_total', 'Introspections by result.', ['resource', 'active'])
  const keys = (): readonly TokenKey[] => trust?.current.policy.oauth?.keys ?? []
  registry.rows({
    name: 'gateway_token_key_info',
    help: 'Published keys of access tokens. Replicas of one issuer have the same.',
    kind: 'gauge',
    labels: ['kid', 'alg', 'sign_from'],
    collect: () =>
      keys().map(({ kid, alg, signFrom }) => ({ labels: { kid, alg, sign_from: writeInstant(signFrom) }, value: 1 })),
  })
  registry.rows({
    name: 'gateway_token_key_signing',
    help: '1 for the key that signs the tokens of its algorithm now.',
    kind: 'gauge',
    labels: ['kid'],
    collect: () => {
      const now = clock.now()
      const signing = new Set(TOKEN_ALGORITHMS.map((alg) => signingKeyOf(keys(), alg, now)))
      return keys().map((key) => ({ labels: { kid: key.kid }, value: Number(signing.has(key)) }))
    },
  })
  return {
    issued: (resource, result) => issued.add({ resource, result }),
    refused: (reason) => refused.add({ reason }),
    scope: (resource, result) => scopes.add({ resource, result }),
    introspected: (resource, active) => asked.add({ resource, active: String(active) }),
    duration: registry.histogram({
      name: 'gateway_token_duration_seconds',
      help: 'Time from a token request to its answer.',
      buckets: BUCKETS,
    }),
  }
}
