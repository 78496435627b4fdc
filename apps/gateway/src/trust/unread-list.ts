import { LIST_HEAD_HEADER, readListHeadHeader, seconds, writeInstant } from '@chancery/protocol'
import type { Instant, ListHead } from '@chancery/protocol'
import type { Clock, Log } from '@chancery/service-kit'
import type { OutboundAnswer } from '../outbound/call-url.ts'
import type { GatewaySettings } from '../settings.ts'
import type { RefreshOutcome } from './refresh-outcome.ts'
import type { IssuerStanding, UnreadList } from './snapshot.ts'
import type { TrustBook } from './trust-book.ts'

/** The signed head of the list that an answer carried or began to carry. */
export async function headOf(
  { policy }: IssuerStanding,
  answer: Pick<OutboundAnswer, 'status' | 'headers'> | undefined,
): Promise<ListHead | undefined> {
  const value = answer?.status === 200 ? answer.headers[LIST_HEAD_HEADER.toLowerCase()] : undefined
  return typeof value === 'string' ? readListHeadHeader(value, policy.issuer, policy.anchors) : undefined
}

interface NoteParts {
  readonly book: TrustBook
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<GatewaySettings, 'maxListBytes' | 'unreadListSeconds'>
}

/**
 * A list could not be taken, and its head proves that it is newer than the held one. What it revokes is not known here,
 * so its issuer is trusted by the held list for a limited time only, counted from the first proof. What was proven once
 * stays proven while the authority cannot be reached.
 */
export async function noteUnread(
  { book, clock, log, settings }: NoteParts,
  standing: IssuerStanding,
  head: ListHead | undefined,
  outcome: RefreshOutcome,
): Promise<void> {
  const { network, issuer } = standing.policy
  const before = standing.unread
  const unread = toUnread(standing, head, outcome, clock.now() + seconds(settings.unreadListSeconds))
  if (unread === undefined) return
  const isRefused = await book.noteUnread(standing, unread)
  const fields = {
    network,
    issuer,
    reason: unread.reason,
    held_sequence: standing.mark.sequence,
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
  { mark, unread }: IssuerStanding,
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
