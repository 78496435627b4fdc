import { type Instant, writeInstant } from '@chancery/protocol'

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

export interface RefreshData {
  readonly tallies: readonly (readonly [key: string, count: RefreshCount])[]
  readonly equivocations: number
}

/** One result, as it is sent to worker processes. */
export type RefreshResult = readonly [network: string, issuer: string, outcome: RefreshOutcome, at: Instant]

/** Counts the results of list refreshes, for metrics and GET /v1/networks. */
export class RefreshResults {
  readonly #tallies = new Map<string, RefreshCount>()
  readonly #onAdd: ((...result: RefreshResult) => void) | undefined
  #equivocations = 0

  constructor(onAdd?: (...result: RefreshResult) => void) {
    this.#onAdd = onAdd
  }

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
    this.#onAdd?.(network, issuer, outcome, at)
  }

  /** Everything counted so far, for a worker that starts. */
  toData(): RefreshData {
    return { tallies: [...this.#tallies], equivocations: this.#equivocations }
  }

  restore({ tallies, equivocations }: RefreshData): void {
    for (const [key, count] of tallies) this.#tallies.set(key, count)
    this.#equivocations = equivocations
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
