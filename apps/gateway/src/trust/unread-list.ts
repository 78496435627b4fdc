import { LIST_HEAD_HEADER, readListHeadHeader, seconds, writeInstant } from '@chancery/protocol'
import type { Instant, ListHead } from '@chancery/protocol'
import type { Clock, Log } from '@chancery/service-kit'
import type { OutboundResponse } from '@chancery/service-kit'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { RefreshOutcome } from './refresh-results.ts'
import type { IssuerState, UnreadList } from './snapshot.ts'
import type { TrustState } from './trust-state.ts'

/** Returns the signed head of the list in a response. */
export async function headOf(
  { policy }: IssuerState,
  response: Pick<OutboundResponse, 'status' | 'headers'> | undefined,
): Promise<ListHead | undefined> {
  const value = response?.status === 200 ? response.headers[LIST_HEAD_HEADER.toLowerCase()] : undefined
  return typeof value === 'string' ? readListHeadHeader(value, policy.issuer, policy.anchors) : undefined
}

interface UnreadParts {
  readonly trust: TrustState
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<GatewaySettings, 'maxListBytes' | 'unreadListSeconds'>
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
  const unread = toUnread(issuerState, head, outcome, clock.now() + seconds(settings.unreadListSeconds))
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
