import { writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'

export const REFRESH_OUTCOMES = [
  'installed',
  'unchanged',
  'unreachable',
  'too_large',
  'malformed',
  'unauthentic',
  'rollback',
  'equivocation',
  'stale',
  'state',
] as const
export type RefreshOutcome = (typeof REFRESH_OUTCOMES)[number]

interface RefreshCount {
  readonly network: string
  readonly issuer: string
  last: { readonly at: string; readonly outcome: RefreshOutcome } | undefined
  readonly counts: Map<RefreshOutcome, number>
}

/** Counts the results of list refreshes, for metrics and GET /v1/networks. */
export class RefreshResults {
  readonly #tallies = new Map<string, RefreshCount>()
  #equivocations = 0

  get equivocations(): number {
    return this.#equivocations
  }

  add(network: string, issuer: string, outcome: RefreshOutcome, at: Instant): void {
    const key = `${network}\0${issuer}`
    const count = this.#tallies.get(key) ?? { network, issuer, last: undefined, counts: new Map() }
    count.last = { at: writeInstant(at), outcome }
    count.counts.set(outcome, (count.counts.get(outcome) ?? 0) + 1)
    this.#tallies.set(key, count)
    if (outcome === 'equivocation') this.#equivocations += 1
  }

  last(network: string, issuer: string): { readonly at: string; readonly outcome: RefreshOutcome } | undefined {
    return this.#tallies.get(`${network}\0${issuer}`)?.last
  }

  rows(): { readonly labels: Readonly<Record<string, string>>; readonly value: number }[] {
    return [...this.#tallies.values()].flatMap(({ network, issuer, counts }) =>
      [...counts].map(([outcome, value]) => ({ labels: { network, issuer, outcome }, value })),
    )
  }
}
