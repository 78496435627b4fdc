import { expect, it } from 'vitest'
import { withdrawAct, withdrawActs } from './withdraw.ts'

it('withdraws exactly the invite that the address names', () => {
  expect(withdrawActs(new URLSearchParams('tab=invites'))).toEqual([])
  const [act] = withdrawActs(new URLSearchParams('tab=invites&invite_id=0123456789abcdef'))
  expect(act?.requests({ reason: '' })).toMatchObject([
    { target: { path: '/admin/invites/withdraw' }, body: { token_fingerprints: ['0123456789abcdef'] } },
  ])
  expect(act?.requests({ reason: ' wrong ' })[0]?.body).toMatchObject({ reason: 'wrong' })
})

it('states from the dry run whether anything ends', () => {
  const text = (would_change: boolean): string | undefined => withdrawAct('f').effects({}, { would_change })[0]?.text
  expect(text(true)).toBe('1 unused invite ends')
  expect(text(false)).toBe('Nothing changes: it is not open')
})
