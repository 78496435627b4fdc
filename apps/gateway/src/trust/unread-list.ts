import { LIST_HEAD_HEADER, readListHeadHeader, seconds, writeInstant } from '@chancery/protocol'
import type { Instant, ListHead, ListPosition } from '@chancery/protocol'
import { type BlocksResponse, type Clock, type Log, OutboundError, type OutboundResponse } from '@chancery/service-kit'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { IssuerState, UnreadList } from './snapshot.ts'
import type { TrustState } from './trust-state.ts'
import { authorityAddress } from '../policy/urls.ts'

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

/** Returns the signed head of the list in a response. */
export async function headOf(
  { policy }: IssuerState,
  response: Pick<OutboundResponse, 'status' | 'headers'> | undefined,
): Promise<ListHead | undefined> {
  const value = response?.status === 200 ? response.headers[LIST_HEAD_HEADER.toLowerCase()] : undefined
  return typeof value === 'string' ? readListHeadHeader(value, policy.issuer, policy.anchors) : undefined
}

/** For this time an issuer is trusted by its last list after a newer one is proven that cannot be read (9.6). */
const UNREAD_LIMIT = seconds(900)

interface UnreadParts {
  readonly trust: TrustState
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<GatewaySettings, 'maxListBytes'>
}

/**
 * Records that a list could not be read while its head proves that it is newer than the current one. Its revocations
 * are missing here, so its issuer is trusted by the current list for a limited time only, counted from the first proof.
 * The proof stays valid while the authority cannot be reached.
 */
export async function recordUnread(
  { trust, clock, log, settings }: UnreadParts,
  issuerState: IssuerState,
  head: ListHead | undefined,
  outcome: RefreshOutcome,
): Promise<void> {
  const { network, issuer } = issuerState.policy
  const before = issuerState.unread
  const unread = toUnread(issuerState, head, outcome, clock.now() + UNREAD_LIMIT)
  if (unread === undefined) return
  const isRefused = await trust.recordUnread(issuerState, unread)
  const fields = {
    network,
    issuer,
    reason: unread.reason,
    held_sequence: issuerState.position.sequence,
    newer_sequence: unread.sequence,
    list_bytes: unread.bytes,
    max_bytes: settings.maxListBytes,
  }
  if (before === undefined)
    log.error('there is a newer revocation list that cannot be read; its issuer will be refused', {
      alarm: true,
      ...fields,
      refused_from: writeInstant(unread.refusedFrom),
    })
  if (isRefused) log.error('an issuer is refused: its newer revocation list cannot be read', { alarm: true, ...fields })
}

function toUnread(
  { position: mark, unread }: IssuerState,
  head: ListHead | undefined,
  outcome: RefreshOutcome,
  refusedFrom: Instant,
): UnreadList | undefined {
  if (head === undefined || head.list_sequence <= Math.max(mark.sequence, (unread?.sequence ?? 0) - 1)) return unread
  return {
    sequence: head.list_sequence,
    bytes: head.list_bytes,
    reason: outcome === 'too_large' ? 'list_too_large' : 'list_unreadable',
    refusedFrom: unread?.refusedFrom ?? refusedFrom,
  }
}

/**
 * The address of deltas next to the address of a list. Undefined for an address of another form, which may be of another
 * product or of a file.
 */
export function deltaUrl(
  listUrl: URL | undefined,
  { issuer, sequence }: Pick<ListPosition, 'issuer' | 'sequence'>,
): URL | undefined {
  const address = authorityAddress(listUrl)
  if (address === undefined) return undefined
  return new URL(`${address}/crl/delta?${String(new URLSearchParams({ from: String(sequence), issuer }))}`)
}

/**
 * Whether an answer says that the issuer has no delta, or a wrong one. An issuer that is away or overloaded has deltas
 * again afterwards: if its failures counted, gateways would load full lists for an hour after each outage.
 */
export function isMiss(answer: Pick<BlocksResponse, 'status'> | OutboundError): boolean {
  if (answer instanceof OutboundError) return answer.kind === 'too_large'
  return answer.status < 500 && answer.status !== 408 && answer.status !== 429
}

/** After misses in a row this many refreshes are not tried as a delta, at most. */
const MOST_SKIPPED = 63

/** Issuers without deltas are asked for them less and less often. */
export class DeltaMisses {
  readonly #misses = new Map<string, { inARow: number; left: number }>()

  /** Returns true when the next refresh should not ask for a delta. */
  skip(key: string): boolean {
    const found = this.#misses.get(key)
    if (found === undefined || found.left === 0) return false
    found.left -= 1
    return true
  }

  add(key: string): void {
    const inARow = (this.#misses.get(key)?.inARow ?? 0) + 1
    this.#misses.set(key, { inARow, left: Math.min(2 ** Math.min(inARow, 10) - 2, MOST_SKIPPED) })
  }

  clear(key: string): void {
    this.#misses.delete(key)
  }
}
