import { type JsonObject, type StoreAnchor, isJsonObject } from '@chancery/protocol'
import type { StoreStatus } from '@chancery/sdk/authority'
import { plain } from '../../../components/plain.ts'
import { at, authorityNow } from '../../client.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Act } from '../../signing/act.ts'
import { saveAnchor } from './anchors.tsx'
import { olderThanDays, removalEffect } from './older-than.ts'

/** Signs the head of the store. */
export function anchorAct(status: StoreStatus): Act {
  const { unanchored_entries: open, last_store_sequence: last, latest_anchor } = status
  const next = (latest_anchor?.anchor_sequence ?? 0) + 1
  return {
    name: 'anchor',
    title: 'Anchor the evidence',
    sentence: 'Signs the head of the store. A store that is rewritten later no longer matches it.',
    button: 'Sign and anchor',
    fields: [],
    requests: () => [{ target: at`/admin/evidence/anchors`, body: {} }],
    effects: () =>
      open === 0
        ? [{ shape: 'dash', tone: 'ended', text: 'Nothing changes: the head is already anchored.' }]
        : [
            {
              shape: 'tick',
              tone: 'good',
              text: `The authority verifies the entries up to #${last ?? 0}`,
              more: `${open} entries since the last anchor`,
            },
            { shape: 'tick', tone: 'good', text: `Their head is signed as anchor ${next}` },
          ],
    done: ([answer]) => doneAnchor(answer),
  }
}

function doneAnchor(answer: JsonObject | undefined): ReturnType<Act['done']> {
  const anchor = answer?.['anchor']
  if (answer?.['status'] !== 'anchored' || anchor === undefined || !isJsonObject(anchor))
    return { toast: { text: 'The head was already anchored.' } }
  const name = `anchor ${plain(anchor['anchor_sequence'])}`
  return {
    toast: { text: `Signed ${name}, at #${plain(anchor['store_sequence'])}.` },
    view: (close) => (
      <Drawer
        name="anchored"
        title={`Signed ${name}`}
        sentence="Save it where this authority cannot write. Only such a copy detects a rewritten store."
        onClose={close}
        foot={
          <div class="end">
            <button type="button" class="btn primary tall" onClick={close}>
              Done
            </button>
          </div>
        }
      >
        <p>
          <button type="button" class="btn" onClick={() => saveAnchor(anchor as unknown as StoreAnchor)}>
            <Icon name="file" />
            Save {name} as a file
          </button>
        </p>
      </Drawer>
    ),
  }
}

const KEY = /^[A-Za-z0-9+/]{43}=$/

export const registerAct: Act = {
  name: 'register',
  title: 'Register an executor key',
  sentence: 'From the next request on, records signed with this key are accepted as executions.',
  button: 'Sign and register',
  isPrivileged: true,
  fields: [
    { name: 'key_id', label: 'Key id', kind: 'text', placeholder: 'treasury-key-1', isMono: true },
    { name: 'public_key', label: 'Public key', kind: 'text', placeholder: '44 characters of base64', isMono: true },
    { name: 'executor_sovereign_id', label: 'Executor', kind: 'text', placeholder: 'HARBOUR-TREASURY' },
  ],
  requests({ key_id = '', public_key = '', executor_sovereign_id = '' }) {
    if (key_id.trim() === '' || executor_sovereign_id.trim() === '')
      throw new Error('Enter the key id and the executor.')
    if (!KEY.test(public_key.trim())) throw new Error('A public key has 44 characters of base64.')
    const body = {
      key_id: key_id.trim(),
      public_key: public_key.trim(),
      executor_sovereign_id: executor_sovereign_id.trim(),
    }
    return [{ target: at`/admin/evidence/executor-keys`, body }]
  },
  effects: ({ executor_sovereign_id = '' }) => [
    { shape: 'tick', tone: 'good', text: `Records of ${executor_sovereign_id} signed with this key are stored` },
    { shape: 'dash', tone: 'ended', text: 'Only executions of allowed decisions are accepted' },
  ],
  done: (_answers, { key_id = '' }) => ({ toast: { text: `Registered the executor key ${key_id}.` } }),
}

/** An act on one key. A retired key stays retired. */
export function retireAct(keyId: string): Act {
  return {
    name: 'retire',
    title: `Retire ${keyId}`,
    sentence: 'From the next request on, new records signed with this key are refused.',
    button: 'Sign and retire',
    isPrivileged: true,
    fields: [],
    final: {
      warning: 'This cannot be undone. The executor needs a new key, registered under another id.',
      typed: keyId,
    },
    requests: () => [{ target: at`/admin/evidence/executor-keys/${keyId}/retire`, body: {} }],
    effects: () => [
      { shape: 'cross', tone: 'bad', text: 'New records under this key are refused' },
      { shape: 'tick', tone: 'good', text: 'Stored records under this key still verify' },
    ],
    done: () => ({ toast: { text: `Retired the executor key ${keyId}.` } }),
  }
}

/** Removes entries recorded before a date. */
export function retentionAct(date: string): Act {
  return {
    name: 'retention',
    title: `Remove entries from before ${date}`,
    sentence: 'Removes the oldest entries of the store and stores a signed checkpoint in their place.',
    button: 'Sign and remove',
    isPrivileged: true,
    hasDryRun: true,
    fields: [],
    final: {
      warning:
        'This cannot be undone. Export the entries first: afterwards only exported copies prove these decisions.',
      typed: date,
    },
    requests: () => {
      const older_than_days = olderThanDays(date, authorityNow())
      if (older_than_days === undefined) throw new Error('Choose a date before today, as year-month-day.')
      return [{ target: at`/admin/evidence/retention/apply`, body: { older_than_days } }]
    },
    effects: (_values, dryRun) => [
      removalEffect(date, dryRun),
      { shape: 'tick', tone: 'good', text: 'A signed checkpoint names the last removed entry' },
      { shape: 'dash', tone: 'ended', text: 'Removal stops at the first entry that must stay' },
    ],
    done: ([answer]) => ({ toast: { text: `Removed ${plain(answer?.['removed_count'])} entries.` } }),
  }
}
