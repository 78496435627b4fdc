import { type Instant, instantOf, writeInstant } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { countOpenApprovals, findUndelivered, listWaiting } from '../approvals/index.ts'
import type { CheckedNetwork } from './check-lists.ts'

/** Approvals that are named one by one. */
const MAX_NAMED = 50

/** Checks that people answer, that more requests can wait, and that the webhook is called. */
export async function checkApprovals({ database, settings, now }: CheckedNetwork): Promise<readonly Finding[]> {
  const open = await countOpenApprovals(database.read, now)
  const waiting = (await listWaiting(database.read, now)).filter((row) => isLate(row, now))
  return [
    checkQueue(open, settings.approvalsMaxPending),
    ...(waiting.length === 0 ? [good('approval_waiting', `${open} open`)] : waiting.slice(0, MAX_NAMED).map(late)),
    await checkWebhook({ database, settings }),
  ]
}

function checkQueue(open: number, most: number): Finding {
  if (open < most) return good('approval_queue', `${open} of ${most} open`)
  return bad(
    'approval_queue',
    `${open} approvals are open, as many as may be`,
    'Approve, deny or cancel some: chancery approval list. Or raise NA_APPROVALS_MAX_PENDING.',
    { effect: 'Every further request that needs a person is denied.' },
  )
}

interface Waiting {
  readonly approval_id: string
  readonly opened_at: string
  readonly expires_at: string
}

/** Over half of its time is gone. */
function isLate({ opened_at, expires_at }: Waiting, now: Instant): boolean {
  const opened = instantOf(opened_at)
  return 2n * (now - opened) > instantOf(expires_at) - opened
}

function late({ approval_id, opened_at, expires_at }: Waiting): Finding {
  const at = writeInstant(instantOf(expires_at))
  return warn(
    'approval_waiting',
    `A request waits for a person since ${writeInstant(instantOf(opened_at))}`,
    `Look at it: chancery approval show ${approval_id}`,
    { effect: 'It expires, and its caller has to ask again.', about: approval_id, at },
  )
}

async function checkWebhook({ database, settings }: Pick<CheckedNetwork, 'database' | 'settings'>): Promise<Finding> {
  if (settings.approvalWebhookUrl === undefined) return good('approval_webhook', 'no webhook is set')
  const undelivered = await findUndelivered({ database })
  if (undelivered === undefined) return good('approval_webhook', 'every event was delivered')
  return warn(
    'approval_webhook',
    `Not delivered to the approval webhook: ${undelivered.count}`,
    'Check the receiver, NA_APPROVAL_WEBHOOK_URL and NA_APPROVAL_WEBHOOK_ADDRESSES. The log has the cause.',
    {
      effect: 'Approvers are not called. After a day an event is dropped.',
      at: writeInstant(instantOf(undelivered.since)),
    },
  )
}
