import { accepted } from '@chancery/testkit'
import { expect, it } from 'vitest'
import type { ConsolePage, FrameSetup } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'

/** Holds: a new label and a new invite can be undone from their messages, and the label only while it is unchanged. */
let own: ConsolePage
let setup: FrameSetup
useFrame((page, opened) => {
  own = page
  setup = opened
})

const sign = async (): Promise<void> => {
  await own.page.waitForSelector('[data-sign][aria-disabled=false]')
  await own.page.click('[data-sign]')
}
const get = async (path: string): Promise<Record<string, unknown>> =>
  accepted(await setup.na.as('standard')('GET', path))
const openInvites = async (): Promise<number> =>
  ((await get('/admin/invites?state=open'))['invites'] as readonly unknown[]).length
const firstKey = async (): Promise<string> => {
  const [node] = (await get('/admin/nodes?limit=1'))['nodes'] as readonly { readonly node_public_key: string }[]
  return node?.node_public_key ?? ''
}
const pathOf = (key: string): string => key.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
const labelOf = async (key: string): Promise<unknown> => (await get(`/admin/nodes/${pathOf(key)}`))['label']
const name = async (label: string): Promise<void> => {
  await own.page.click('a:has-text("Name it"), a:has-text("Rename")')
  await own.page.fill('#field-label', label)
  await sign()
  await own.page.waitForSelector(`.toast:has-text("Named the node ${label}")`)
}

it('undoes a label, but not one that was changed again', async () => {
  const key = await firstKey()
  await own.unlock(`/operator/nodes/${pathOf(key)}`)
  await name('Berlin')
  expect(await labelOf(key)).toBe('Berlin')
  await own.page.click('.toast >> text="Undo"')
  await own.page.waitForSelector('.toast:has-text("Removed the label again")')
  expect(await labelOf(key)).toBe(null)
  await name('Paris')
  accepted(await setup.na.as('standard')('POST', '/admin/nodes/label', { node_public_key: key, label: 'Rome' }))
  await own.page.click('.toast >> text="Undo"')
  await own.page.waitForSelector('.toast:has-text("Nothing was undone")')
  expect(await labelOf(key)).toBe('Rome')
  expect(own.trouble).toEqual([])
})

it('withdraws a new invite from its drawer, and offers both ways on in the message', async () => {
  await own.unlock('/operator/nodes?do=invite')
  await sign()
  await own.page.waitForSelector('[data-drawer="invited"] [data-token]')
  expect(await openInvites()).toBe(1)
  await own.page.waitForSelector('.toast:has-text("Withdraw it") a:has-text("Invite another")')
  await own.page.click('[data-drawer="invited"] button:has-text("Withdraw it")')
  await own.page.waitForSelector('.toast:has-text("Withdrew the invite")')
  expect(await openInvites()).toBe(0)
  expect(own.trouble).toEqual([])
})
