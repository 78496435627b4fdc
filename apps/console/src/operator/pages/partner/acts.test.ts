import type { PartnerAlarm, TreatyRow } from '@chancery/sdk/authority'
import { expect, it } from 'vitest'
import type { Act, Values } from '../../signing/act.ts'
import { addAct, recogniseAct } from '../partners/acts.ts'
import { attestAct, withdrawAct } from '../partners/member-acts.ts'
import { clearAct, pullAct, removeAct, repinAct } from './partner-acts.ts'
import { endAct, renewAct, replaceAct } from './treaty-acts.ts'

const KEY = 'F8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4='
const ROLES = { allowed_roles: ['role:a'], accepted_statuses: ['active'] }
const TREATY = {
  treaty: { treaty_id: 't-1', subject_sovereign_id: 'B', scope: { ...ROLES, claims: {} }, subject_public_keys: [KEY] },
} as unknown as TreatyRow
const ALARM = { alarm_id: 'x-1', kind: 'equivocation', material: 'feed' } as unknown as PartnerAlarm
const ADDED = { url: 'https://na.b.example', import_feeds: 'on', interval_seconds: 300 }
const SCOPE = { roles: 'role:a' }

/** Input of every action, with every optional value given once and left out once, and the request of it. */
const WRITTEN: readonly (readonly [Act, Values, string, object])[] = [
  [
    recogniseAct,
    { ...SCOPE, how: 'key', name: ' B ', keys: KEY, term: 'other', hours: '3' },
    '/admin/recognition-treaties',
    { subject_sovereign_id: 'B', subject_public_keys: [KEY], scope: ROLES, validity_hours: 3 },
  ],
  [renewAct(TREATY), { term: '168' }, '/admin/recognition-treaties/t-1/renew', { validity_hours: 168 }],
  [
    replaceAct(TREATY),
    { roles: 'role:b, role:c' },
    '/admin/recognition-treaties/t-1/renew',
    {
      validity_hours: 720,
      subject_public_keys: [KEY],
      scope: { allowed_roles: ['role:b', 'role:c'], accepted_statuses: ['active'], claims: {} },
    },
  ],
  [endAct(TREATY, undefined), { reason: ' ' }, '/admin/recognition-treaties/t-1/revoke', {}],
  [endAct(TREATY, undefined), { reason: 'over' }, '/admin/recognition-treaties/t-1/revoke', { reason: 'over' }],
  [
    attestAct,
    { subject_id: 'm', roles: 'role:a' },
    '/admin/attestations',
    { subject_id: 'm', roles: ['role:a'], validity_hours: 168 },
  ],
  [
    attestAct,
    { subject_id: 'm', roles: 'role:a', validity_hours: '3', subject_public_key: KEY },
    '/admin/attestations',
    { subject_id: 'm', roles: ['role:a'], validity_hours: 3, subject_public_key: KEY },
  ],
  [withdrawAct('a-1', 'm'), { reason: '' }, '/admin/attestations/a-1/revoke', {}],
  [withdrawAct('a-1', 'm'), { reason: 'over' }, '/admin/attestations/a-1/revoke', { reason: 'over' }],
  [addAct, { url: ADDED.url, given: KEY }, '/admin/partners', { ...ADDED, root_public_key: KEY }],
  [
    addAct,
    { url: 'http://na.b.example', how: 'key', keys: KEY, label: 'B', allow_http: 'yes' },
    '/admin/partners',
    { ...ADDED, url: 'http://na.b.example', authority_public_keys: [KEY], label: 'B', allow_http: true },
  ],
  [pullAct('B'), {}, '/admin/partners/B/pull', {}],
  [
    clearAct('B C', ALARM),
    { reason: 'asked them' },
    '/admin/partners/B%20C/clear-alarm',
    { alarm_id: 'x-1', reason: 'asked them' },
  ],
  [
    repinAct('B'),
    { keys: KEY, reason: 'new root' },
    '/admin/partners/B/repin',
    { root_public_key: KEY, reason: 'new root' },
  ],
  [
    repinAct('B'),
    { kind: 'keys', keys: KEY, reason: 'new key' },
    '/admin/partners/B/repin',
    { authority_public_keys: [KEY], reason: 'new key' },
  ],
  [removeAct('B'), { reason: 'over' }, '/admin/partners/B/remove', { reason: 'over' }],
]

it.each(WRITTEN)('$name sends the values that were entered, and no others', (act, entered, target, body) => {
  const initial = Object.fromEntries(act.fields.map(({ name, initial: value = '' }) => [name, value]))
  const requests = act.requests({ ...initial, ...entered })
  expect(requests.map((request) => [request.target.encoded, request.body])).toEqual([[target, body]])
})

it.each([
  [attestAct, { subject_id: 'm', roles: 'role:a', validity_hours: '1.5' }, 'a whole number of hours'],
  [attestAct, { subject_id: 'm', roles: ' ' }, 'at least one role'],
  [recogniseAct, { how: 'key', name: 'B', keys: KEY, term: 'other', hours: 'many' }, 'a whole number of hours'],
  [addAct, { url: 'https://na.b.example', given: KEY, interval_seconds: '1e9' }, '60 to 86400 seconds'],
  [addAct, { url: 'http://na.b.example', given: KEY }, 'plain http'],
  [removeAct('B'), { reason: ' ' }, 'Give a reason'],
])('$name refuses values that do not fit', (act, entered, problem) => {
  const initial = Object.fromEntries(act.fields.map(({ name, initial: value = '' }) => [name, value]))
  expect(() => act.requests({ ...initial, ...entered })).toThrow(problem)
})
