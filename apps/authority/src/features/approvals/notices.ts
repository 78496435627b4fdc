import type { ApprovalEvent, ApprovalRequest, Instant } from '@chancery/protocol'
import {
  DAY,
  asJson,
  canonicalJson,
  seconds,
  sha256Hex,
  toBase64,
  toUtf8,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import { OutboundError, callUrl } from '@chancery/service-kit'
import type { Transaction } from '../../database/database.ts'
import { withLease } from '../../database/locks/leases.ts'
import type { Tables } from '../../database/tables.ts'
import { isAllowedAddress } from '../../requests/allowed-address.ts'
import { type ApprovalsParts, titlesOf } from './approvals-parts.ts'

/** Stores an event for the webhook, in the transaction of the event. It has no text of a caller. */
export async function insertNotice(
  tx: Transaction,
  { ids, network, settings }: Pick<ApprovalsParts, 'ids' | 'network' | 'settings'>,
  request: ApprovalRequest,
  given: { readonly event: ApprovalEvent; readonly at: string; readonly position: number; readonly now: Instant },
): Promise<void> {
  if (settings.approvalWebhookUrl === undefined) return
  const { approval_id, expires_at } = request
  const { event, at, position, now } = given
  const event_id = ids.uuid()
  const body = {
    type: 'chancery.approval-event.v1',
    event_id,
    event,
    approval_id,
    at,
    sovereign_id: network.name,
    titles: titlesOf(request),
    expires_at,
    url: settings.publicUrl === undefined ? null : `${settings.publicUrl}/operator/approvals/${approval_id}`,
  }
  const times = { created_at: writeSortable(now), next_at: writeSortable(now) }
  await tx.query
    .insertInto('approval_notices')
    .values({ event_id, approval_id, position, event, body_json: canonicalJson(asJson(body)), attempts: 0, ...times })
    .execute()
}

const CALL_MS = 5000
const FIRST_RETRY_SECONDS = 10
const LONGEST_RETRY_SECONDS = 3600
const AT_ONCE = 50
const LEASE_SECONDS = 330
const RUN_MS = 240_000
/** An answer is not used. */
const MAX_ANSWER_BYTES = 1024

type Notice = Readonly<Tables['approval_notices']>

/**
 * Sends the events that are due, at least once and for each approval in their order. A call that fails is tried again
 * later, for a day. It changes no approval.
 */
export async function sendNotices(parts: ApprovalsParts, signal: AbortSignal): Promise<void> {
  if (parts.settings.approvalWebhookUrl === undefined) return
  const due = await listDue(parts)
  if (due.length === 0) return
  await withLease(parts, 'approval-webhook', LEASE_SECONDS, async () => {
    const endMs = parts.clock.monotonicMs() + RUN_MS
    await removeOld(parts)
    for (const notice of await listDue(parts)) {
      if (signal.aborted || parts.clock.monotonicMs() >= endMs) return
      const isDelivered = await send(parts, notice, signal)
      parts.metrics.approvalWebhook.with({ outcome: isDelivered ? 'ok' : 'failed' }).increase()
      await finish(parts, notice, isDelivered)
    }
  })
}

/** The first event of each approval that was not delivered. A later one waits for it. */
async function listDue({ database, clock }: Pick<ApprovalsParts, 'database' | 'clock'>): Promise<readonly Notice[]> {
  const rows = await database.read
    .selectFrom('approval_notices as n')
    .selectAll()
    .where('n.next_at', '<=', writeSortable(clock.now()))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('approval_notices as earlier')
            .select('earlier.event_id')
            .whereRef('earlier.approval_id', '=', 'n.approval_id')
            .whereRef('earlier.position', '<', 'n.position'),
        ),
      ),
    )
    .orderBy('n.next_at')
    .limit(AT_ONCE)
    .execute()
  return rows
}

async function send(parts: ApprovalsParts, { body_json }: Notice, signal: AbortSignal): Promise<boolean> {
  const { settings, signing, log, clock } = parts
  if (!signing.isAllowed()) return false
  const url = new URL(settings.approvalWebhookUrl ?? '')
  const timestamp = writeInstant(clock.now())
  const message = toUtf8(`chancery-webhook-v1\n${timestamp}\n${sha256Hex(body_json)}`)
  const isPlain = url.protocol === 'http:'
  try {
    const { status } = await callUrl({
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'Chancery-Timestamp': timestamp,
        'Chancery-Key-Id': signing.keyId,
        'Chancery-Signature': toBase64(await signing.signer.sign(message)),
      },
      body: body_json,
      timeoutMs: CALL_MS,
      maxBytes: MAX_ANSWER_BYTES,
      extraRoots: settings.approvalWebhookRoots,
      isAllowed: (address) => isAllowedAddress(address, settings.approvalWebhookAddresses, isPlain),
      signal,
    })
    return isSuccess(status)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    // The status came first: an answer that is too long was still an answer.
    const isDelivered = error.kind === 'too_large' && isSuccess(error.response?.status ?? 0)
    if (!isDelivered) log.warn('an approval event was not delivered', { error })
    return isDelivered
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

async function finish({ database, clock }: ApprovalsParts, notice: Notice, isDelivered: boolean): Promise<void> {
  const { event_id, attempts } = notice
  const wait = Math.min(FIRST_RETRY_SECONDS * 2 ** attempts, LONGEST_RETRY_SECONDS)
  await database.write(async ({ query }) => {
    if (isDelivered) await query.deleteFrom('approval_notices').where('event_id', '=', event_id).execute()
    else
      await query
        .updateTable('approval_notices')
        .set({ attempts: attempts + 1, next_at: writeSortable(clock.now() + seconds(wait)) })
        .where('event_id', '=', event_id)
        .execute()
  })
}

/** After a day an event is not sent any more. */
async function removeOld({ database, clock }: ApprovalsParts): Promise<void> {
  const before = writeSortable(clock.now() - DAY)
  await database.write(({ query }) => query.deleteFrom('approval_notices').where('created_at', '<', before).execute())
}

export interface UndeliveredNotices {
  readonly count: number
  readonly since: string
}

/** Events that were tried and not delivered. */
export async function findUndelivered({
  database,
}: Pick<ApprovalsParts, 'database'>): Promise<UndeliveredNotices | undefined> {
  const row = await database.read
    .selectFrom('approval_notices')
    .select(({ fn }) => [fn.countAll().as('count'), fn.min('created_at').as('since')])
    .where('attempts', '>', 0)
    .executeTakeFirst()
  const count = Number(row?.count ?? 0)
  return count === 0 || row === undefined ? undefined : { count, since: row.since }
}
