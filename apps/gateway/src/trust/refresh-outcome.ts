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

interface Tally {
  readonly network: string
  readonly issuer: string
  last: { readonly at: string; readonly outcome: RefreshOutcome } | undefined
  readonly counts: Map<RefreshOutcome, number>
}

/** What became of every attempt to refresh a list; for metrics and for the callers of /v1/networks. */
export class RefreshRecord {
  readonly #tallies = new Map<string, Tally>()
  #equivocations = 0

  get equivocations(): number {
    return this.#equivocations
  }

  note(network: string, issuer: string, outcome: RefreshOutcome, at: Instant): void {
    const key = `${network}\0${issuer}`
    const tally = this.#tallies.get(key) ?? { network, issuer, last: undefined, counts: new Map() }
    tally.last = { at: writeInstant(at), outcome }
    tally.counts.set(outcome, (tally.counts.get(outcome) ?? 0) + 1)
    this.#tallies.set(key, tally)
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
