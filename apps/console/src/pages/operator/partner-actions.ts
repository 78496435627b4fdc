import { asJson } from '@chancery/protocol'
import type { JsonValue } from '@chancery/protocol'
import type { Client, PartnerPin } from '@chancery/sdk'
import { optionalNumber, optionalText, text, words } from './action.ts'
import type { Action, Field, Values } from './action.ts'

const PARTNER: Field = { name: 'sovereign_id', label: 'Partner', kind: 'text', required: true }
const REASON: Field = { name: 'reason', label: 'Reason', kind: 'text', required: true }
const PIN: readonly Field[] = [
  {
    name: 'root_public_key',
    label: 'Its root key, base64',
    kind: 'text',
    help: 'Get it by another way than its address.',
  },
  {
    name: 'authority_public_keys',
    label: 'Or its authority keys, base64',
    kind: 'words',
    help: 'In place of the root key: exactly these keys are accepted.',
  },
]

export const PARTNER_ACTIONS: readonly Action[] = [
  {
    id: 'partner-add',
    title: 'Add a partner',
    purpose: 'The authority reads its published material from now on. This recognises no member: only a treaty does.',
    fields: [
      { name: 'url', label: 'Address of its authority', kind: 'text', required: true, help: 'https://na.example' },
      ...PIN,
      { name: 'import_feeds', label: 'Import its revocations', kind: 'choice', choices: ['on', 'off'], initial: 'on' },
      { name: 'interval_seconds', label: 'Time between two pulls, seconds', kind: 'number', initial: '300' },
      { name: 'label', label: 'Label', kind: 'text' },
    ],
    draft(values) {
      const body = {
        url: text(values, 'url'),
        ...pinOf(values),
        import_feeds: text(values, 'import_feeds') === 'on' ? ('on' as const) : ('off' as const),
        ...optionalNumber(values, 'interval_seconds'),
        ...optionalText(values, 'label'),
      }
      const send = async (client: Client): Promise<JsonValue> => asJson(await client.partners.add(body))
      return { target: 'POST /admin/partners', body: asJson(body), send }
    },
  },
  {
    id: 'partner-clear-alarm',
    title: 'Clear an alarm of a partner',
    purpose: 'After you found its cause. The content that is read next then counts. Nothing becomes unrevoked.',
    fields: [PARTNER, { name: 'alarm_id', label: 'Alarm id', kind: 'text', required: true }, REASON],
    draft(values) {
      const [id, body] = [
        text(values, 'sovereign_id'),
        { alarm_id: text(values, 'alarm_id'), reason: text(values, 'reason') },
      ]
      return {
        target: `POST /admin/partners/${encodeURIComponent(id)}/clear-alarm`,
        body,
        send: async (client) => asJson(await client.partners.clearAlarm(id, body)),
      }
    },
  },
  {
    id: 'partner-repin',
    title: 'Pin other keys of a partner',
    purpose: 'The owner of the new keys is the partner from then on. What was read under the former keys is removed.',
    isFinal: true,
    fields: [PARTNER, ...PIN, REASON],
    draft(values) {
      const [id, body] = [text(values, 'sovereign_id'), { ...pinOf(values), reason: text(values, 'reason') }]
      return {
        target: `POST /admin/partners/${encodeURIComponent(id)}/repin`,
        body: asJson(body),
        send: async (client) => asJson(await client.partners.repin(id, body)),
      }
    },
  },
  {
    id: 'partner-remove',
    title: 'Remove a partner',
    purpose: 'Ends the pulls. Own treaties and imported revocations stay.',
    isFinal: true,
    fields: [PARTNER, REASON],
    draft(values) {
      const [id, body] = [text(values, 'sovereign_id'), { reason: text(values, 'reason') }]
      return {
        target: `POST /admin/partners/${encodeURIComponent(id)}/remove`,
        body,
        preview: async (client) => {
          const { treaties_in_force: treaties } = await client.partners.remove(id, { ...body, dryRun: true })
          return {
            lines: [
              treaties.length === 0
                ? 'No own treaty with it is in force.'
                : `These treaties stay in force: ${treaties.join(', ')}.`,
            ],
          }
        },
        send: async (client) => asJson(await client.partners.remove(id, body)),
      }
    },
  },
]

function pinOf(values: Values): PartnerPin {
  const [root, keys] = [text(values, 'root_public_key'), words(values, 'authority_public_keys')]
  if ((root === '') === (keys.length === 0)) throw new Error('Give the root key or authority keys, not both.')
  return root === '' ? { authority_public_keys: keys } : { root_public_key: root }
}
