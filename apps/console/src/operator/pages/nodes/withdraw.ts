import type { JsonObject } from '@chancery/protocol'
import { at } from '../../client.ts'
import type { Act } from '../../signing/act.ts'
import { undo } from '../../signing/undo.ts'

/** The action on the invite that the address names. */
export function withdrawActs(query: URLSearchParams): readonly Act[] {
  const fingerprint = query.get('invite_id')
  return fingerprint === null ? [] : [withdrawAct(fingerprint)]
}

const TARGET = at`/admin/invites/withdraw`
const withdrawnText = (answer: JsonObject | undefined): string =>
  answer?.['withdrawn'] === 1 ? 'Withdrew the invite.' : 'The invite was not open.'

/** Withdraws an invite that was made a moment ago. One that was used stays used. */
export const withdrawNow = (fingerprint: string): Promise<void> =>
  undo(async (change) => withdrawnText((await change(TARGET, { token_fingerprints: [fingerprint] })) as JsonObject), {
    href: '/operator/nodes?tab=invites',
    text: 'Check the invites',
  })

/** Ends one unused invite. */
export function withdrawAct(fingerprint: string): Act {
  return {
    name: 'withdraw',
    title: `Withdraw the invite ${fingerprint.slice(0, 8)}`,
    sentence: 'No node can join with it from the next request on. Another invite can be made at any time.',
    button: 'Sign and withdraw',
    fields: [
      { name: 'reason', label: 'Why', kind: 'text', isOptional: true, placeholder: 'Sent to the wrong address' },
    ],
    hasDryRun: true,
    requests(values) {
      const reason = (values['reason'] ?? '').trim()
      const body: JsonObject = { token_fingerprints: [fingerprint], ...(reason === '' ? {} : { reason }) }
      return [{ target: TARGET, body }]
    },
    effects: (_values, dryRun) => [
      dryRun?.['would_change'] === true
        ? { shape: 'cross', tone: 'bad', text: '1 unused invite ends', more: 'Nodes that joined before stay.' }
        : { shape: 'dash', tone: 'ended', text: 'Nothing changes: it is not open' },
    ],
    done: ([answer]) => ({ toast: { text: withdrawnText(answer) } }),
  }
}
