import type { ListedPartner, PartnerAlarm } from '@chancery/sdk/authority'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import type { Act, ActField } from '../../signing/act.ts'
import { ALARM_WORDS, PULL_WORDS, wordOf } from '../../words/partners.ts'
import { jsonOf, keysOf, textOf } from '../partners/material.ts'
import type { FeedRow } from '../partners/rows.ts'

const REASON: ActField = { name: 'reason', label: 'Reason', kind: 'text', hint: 'It is in the audit log.' }

function reasonOf(values: Readonly<Record<string, string>>): string {
  const reason = textOf(values, 'reason')
  if (reason === '') throw new Error('Give a reason.')
  return reason
}

/** Reads the published material of the partner now. */
export function pullAct(id: string): Act {
  return {
    name: 'pull',
    title: `Read ${id} now`,
    sentence: 'The authority reads its genesis block, lists, feed and treaties, and checks them.',
    button: 'Sign and read it',
    fields: [],
    requests: () => [{ target: at`/admin/partners/${id}/pull`, body: {} }],
    effects: () => [
      { shape: 'tick', tone: 'good', text: 'New revocations are imported, where this is on' },
      { shape: 'dash', tone: 'ended', text: 'No treaty changes' },
    ],
    done: ([answer]) => {
      const outcome = plain(answer?.['outcome'])
      return { toast: { text: `${id}: ${wordOf(PULL_WORDS, outcome)}.`, more: outcome } }
    },
  }
}

/** Clears one alarm. */
export function clearAct(id: string, { alarm_id, kind, material }: PartnerAlarm): Act {
  return {
    name: `clear-${alarm_id}`,
    title: `Clear an alarm of ${id}`,
    sentence: `${wordOf(ALARM_WORDS, kind)} (${material}). Clear it after you found the cause.`,
    button: 'Sign and clear it',
    isPrivileged: true,
    fields: [REASON],
    requests: (values) => [
      { target: at`/admin/partners/${id}/clear-alarm`, body: { alarm_id, reason: reasonOf(values) } },
    ],
    effects: () => [
      { shape: 'circle', tone: 'watch', text: 'The content that is read next counts' },
      { shape: 'tick', tone: 'good', text: 'Nothing that was revoked becomes valid again' },
    ],
    done: () => ({ toast: { text: `Cleared an alarm of ${id}.` } }),
  }
}

/** Pins other keys. */
export function repinAct(id: string): Act {
  const isRoot = (values: Readonly<Record<string, string>>): boolean => values['kind'] !== 'keys'
  return {
    name: 'repin',
    title: `Pin other keys of ${id}`,
    sentence: 'The owner of the new keys is the partner from then on.',
    button: 'Sign and pin them',
    isPrivileged: true,
    fields: [
      {
        name: 'kind',
        label: 'Pin',
        kind: 'few',
        initial: 'root',
        choices: [
          { value: 'root', text: 'Its root key' },
          { value: 'keys', text: 'Its authority keys' },
        ],
      },
      {
        name: 'keys',
        label: 'New keys, received another way',
        kind: 'text',
        isMono: true,
        hint: '44 characters of base64 each. Never from the same address.',
      },
      REASON,
    ],
    final: { warning: 'What was read under the former keys is removed.', typed: id },
    requests(values) {
      const keys = keysOf(values['keys'])
      if (isRoot(values) && keys.length > 1) throw new Error('A network has one root key.')
      const pin = isRoot(values) ? { root_public_key: keys[0] ?? '' } : { authority_public_keys: keys }
      return [{ target: at`/admin/partners/${id}/repin`, body: { ...pin, reason: reasonOf(values) } }]
    },
    effects: () => [
      { shape: 'tick', tone: 'good', text: 'The authority reads its address and stops when another key responds' },
      { shape: 'dash', tone: 'ended', text: 'Own treaties stay. Replace one that names a former key.' },
    ],
    done: () => ({ toast: { text: `Pinned other keys of ${id}.` } }),
  }
}

/** Ends the pulls. */
export function removeAct(id: string): Act {
  return {
    name: 'remove',
    title: `Remove the partner ${id}`,
    sentence: 'The authority no longer reads its material.',
    button: 'Sign and remove it',
    isPrivileged: true,
    hasDryRun: true,
    fields: [{ ...REASON, initial: 'no longer used' }],
    final: { warning: 'Alarms and what was read are removed. To read it again, add it with its keys.', typed: id },
    requests: (values) => [{ target: at`/admin/partners/${id}/remove`, body: { reason: reasonOf(values) } }],
    effects(_values, dryRun) {
      const treaties = (dryRun?.['treaties_in_force'] ?? []) as readonly string[]
      return [
        { shape: 'cross', tone: 'bad', text: 'Its revocations are no longer imported' },
        treaties.length === 0
          ? { shape: 'tick', tone: 'good', text: 'No own treaty with it is in force' }
          : {
              shape: 'triangle',
              tone: 'watch',
              text: 'Its members stay accepted: end the treaty too, if you mean that',
              more: treaties.slice(0, 20).join(', '),
            },
        { shape: 'tick', tone: 'good', text: 'Imported revocations stay in effect' },
      ]
    },
    done: () => ({ toast: { text: `Removed the partner ${id}.` } }),
  }
}

/** Imports a feed from a file. The authority checks it under the keys of the treaty. */
export function importAct(id: string, feed: FeedRow | undefined, listed: ListedPartner | undefined): Act {
  return {
    name: 'import',
    title: `Import the revocation feed of ${id}`,
    sentence: 'Members that it revoked are refused here from the next request on.',
    button: 'Sign and import it',
    isPrivileged: true,
    fields: [
      {
        name: 'feed',
        label: 'Its feed',
        kind: 'file',
        hint: 'The file from /sovereign-revocation-feed of the partner.',
      },
    ],
    requests(values) {
      const record = jsonOf(values['feed'], 'Feed')
      if (record['issuer_sovereign_id'] !== id) throw new Error(`This is not a feed of ${id}.`)
      const body = { feed: record, expected_issuer_sovereign_id: id }
      return [{ target: at`/admin/sovereign-revocation-feeds/import`, body }]
    },
    effects(values) {
      const record = jsonOf(values['feed'], 'Feed')
      const [sequence, ids] = [Number(record['sequence']), record['revoked_attestation_ids']]
      const before = feed?.sequence ?? listed?.feed?.imported_sequence ?? undefined
      return [
        {
          shape: 'circle',
          tone: 'good',
          text: `Sequence ${sequence}, ${Array.isArray(ids) ? ids.length : 0} withdrawn members`,
          more: before === undefined ? 'No feed of it is imported yet.' : `Sequence ${before} is imported now.`,
        },
        before !== undefined && sequence <= before
          ? { shape: 'triangle', tone: 'watch', text: 'It is not newer, so the authority refuses it' }
          : { shape: 'tick', tone: 'good', text: 'The authority checks its signature under the keys of the treaty' },
        { shape: 'dash', tone: 'ended', text: 'Imported revocations cannot be taken back' },
      ]
    },
    done: ([answer]) => ({
      toast: { text: `Imported the feed of ${id}.`, more: `Sequence ${plain(answer?.['sequence'])}` },
    }),
  }
}
