import { expect, it } from 'vitest'
import { keyEffects, revokeKeyAct } from './revoke-key.ts'

const texts = (...given: Parameters<typeof keyEffects>): readonly string[] =>
  keyEffects(...given).map(({ text }) => text)
const DRY_RUN = { would_change: true, remaining_active_keys: 2, remaining_privileged_keys: 1, open_invites: 3 }

it('sends the reason, and withdraws unused invites unless they stay', () => {
  const act = revokeKeyAct('ops-2', false)
  expect(act.requests({ reason: ' stolen ', invites: 'withdraw' })).toMatchObject([
    { target: { path: '/admin/operator-keys/ops-2/revoke' }, body: { reason: 'stolen', withdraw_invites: true } },
  ])
  expect(act.requests({ reason: '', invites: 'keep' })[0]?.body).toEqual({})
  expect(act.final?.typed).toBe('ops-2')
})

it('shows how many keys remain and what happens to invites', () => {
  expect(texts({ invites: 'withdraw' }, DRY_RUN, false)).toEqual([
    '2 operator keys remain, 1 of them privileged',
    '3 unused invites of this key are withdrawn',
  ])
  expect(texts({ invites: 'keep' }, DRY_RUN, false)[1]).toBe('3 unused invites of this key stay usable')
  expect(texts({}, { ...DRY_RUN, active_rules: 2 }, false)[2]).toContain('2 admission rules of this key stay in force')
})

it('warns when the key is the one that signs, and when no privileged key remains', () => {
  expect(texts({}, DRY_RUN, true).at(-1)).toContain('This is your key')
  expect(keyEffects({}, { ...DRY_RUN, remaining_privileged_keys: 0 }, false)[0]?.tone).toBe('urgent')
})

it('states that nothing changes for a revoked key', () => {
  expect(texts({}, { would_change: false }, false)).toEqual(['Nothing changes: it is revoked already'])
})
