import { readJsonBytes, seedSigner } from '@chancery/protocol'
import { createClient } from '@chancery/sdk'
import { expect, it } from 'vitest'
import type { Values } from './action.ts'
import { ACTIONS } from './actions.ts'

const KEY = 'F8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4='

/** Input for every action, with every optional value given once and omitted once. */
const WRITTEN: Readonly<Record<string, readonly Values[]>> = {
  revoke: [
    { cert_id: ' c-1 ', reason: 'superseded', ends: 'this certificate' },
    { cert_id: 'c-1', reason: 'key_compromise', ends: 'every certificate of its node key' },
  ],
  'treaty-issue': [
    { subject_sovereign_id: 'B', subject_public_keys: KEY, roles: 'role:a', validity_hours: '' },
    { subject_sovereign_id: 'B', subject_public_keys: KEY, roles: '', validity_hours: '168' },
  ],
  'treaty-revoke': [{ treaty_id: 't-1' }, { treaty_id: 't-1', reason: 'over' }],
  'attestation-issue': [
    { subject_id: 'm', roles: 'role:a' },
    { subject_id: 'm', roles: 'role:a', validity_hours: '3' },
  ],
  'attestation-revoke': [{ attestation_id: 'a-1' }, { attestation_id: 'a-1', reason: 'over' }],
  'partner-add': [
    { url: 'https://na.b.example', root_public_key: KEY, import_feeds: 'on', interval_seconds: '', label: '' },
    {
      url: 'https://na.b.example',
      authority_public_keys: KEY,
      import_feeds: 'off',
      interval_seconds: '60',
      label: 'B',
    },
  ],
  'partner-clear-alarm': [{ sovereign_id: 'B C', alarm_id: 'x-1', reason: 'asked them' }],
  'partner-repin': [
    { sovereign_id: 'B', root_public_key: KEY, reason: 'new root' },
    { sovereign_id: 'B', authority_public_keys: KEY, reason: 'new key' },
  ],
  'partner-remove': [{ sovereign_id: 'B', reason: 'over' }],
}

it('every action has test input', () => {
  expect(Object.keys(WRITTEN).sort()).toEqual(ACTIONS.map(({ id }) => id).sort())
})

it.each(ACTIONS.map((action) => [action.id, action] as const))(
  '%s sends exactly the target and the body that the review shows',
  async (id, action) => {
    for (const values of WRITTEN[id] ?? []) {
      const sent: unknown[] = []
      const signer = await seedSigner('op', 'NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU=')
      const client = createClient({
        url: 'https://na.example',
        operator: { signer, audience: KEY },
        retry: false,
        fetch: async (url, { method = '', body }) => {
          sent.push([`${method} ${url.slice('https://na.example'.length)}`, readJsonBytes(body as Uint8Array)])
          return new Response('{}', { status: 500 })
        },
      })
      const { target, body, send } = action.draft(values)
      await send(client).catch(() => undefined)
      expect(sent).toEqual([[target, body]])
    }
  },
)
