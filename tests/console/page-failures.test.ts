import { accepted } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { keyToPath } from '../../apps/console/src/operator/node-key.ts'
import { checkScreens } from './check-screens.ts'
import { type ConsolePage, type FrameSetup, registerAgent } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'

/** Holds: a failure of one part is shown, can be tried again, and changes nothing that an operator confirms. */
let own: ConsolePage
let setup: FrameSetup
useFrame((page, opened) => {
  own = page
  setup = opened
})

interface NodeRow {
  readonly node_public_key: string
  readonly agent_id: string | null
}
const nodes = async (): Promise<readonly NodeRow[]> =>
  accepted(await setup.na.as('standard')('GET', '/admin/nodes'))['nodes'] as unknown as readonly NodeRow[]
const setLabel = async (node_public_key: string, label: string | null): Promise<void> =>
  void accepted(await setup.na.as('standard')('POST', '/admin/nodes/label', { node_public_key, label }))
/** Opens another address in the same document. */
const show = (address: string): Promise<unknown> =>
  own.page.evaluate(`history.pushState({}, '', '${address}'); dispatchEvent(new PopStateEvent('popstate'))`)

it('keeps the title and the typed text of a revocation while the node and its label change', async () => {
  await registerAgent(setup.na, 'frame-0', 'payer', 'pay.invoice')
  const key = (await nodes()).find(({ agent_id }) => agent_id === 'payer')?.node_public_key ?? ''
  await own.unlock(`/operator/nodes/${keyToPath(key)}?do=revoke`)
  const title = `Revoke node ${key.slice(0, 8)}`
  await own.page.waitForSelector(`[data-drawer=revoke] h2:text-is("${title}")`)
  await own.page.waitForSelector('[data-effects=ready]')
  await own.page.fill('#typed-confirmation', `node ${key.slice(0, 8)}`)
  await own.page.waitForSelector('[data-sign][aria-disabled=false]')
  await registerAgent(setup.na, 'frame-0', 'another-node', 'pay.invoice')
  await setLabel(key, 'Another node')
  await own.page.waitForSelector('h1:has-text("Another node")', { timeout: 60_000 })
  expect(await own.page.textContent('[data-drawer=revoke] h2')).toBe(title)
  expect(await own.page.inputValue('#typed-confirmation')).toBe(`node ${key.slice(0, 8)}`)
  expect(await own.page.getAttribute('[data-sign]', 'aria-disabled')).toBe('false')
  await setLabel(key, null)
  expect(own.trouble).toEqual([])
})

it('shows the next record after one that cannot be shown', async () => {
  const [first, second] = (await nodes()).map(({ node_public_key }) => keyToPath(node_public_key))
  await own.page.route(`**/admin/nodes/${first}`, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace(/"roles":\[[^\]]*\]/, '"roles":7') })
  })
  await own.unlock(`/operator/nodes/${first}`)
  await own.page.waitForSelector('text=This page cannot be shown')
  await show(`/operator/nodes/${second}`)
  await own.page.waitForSelector('.hero')
  expect(await own.page.locator('text=This page cannot be shown').count()).toBe(0)
})

it('shows that a script did not load, and loads it when it is tried again', async () => {
  const [first] = await nodes()
  await own.unlock(`/operator/nodes/${keyToPath(first?.node_public_key ?? '')}`)
  await own.page.waitForSelector('[data-revoke]')
  await own.page.route('**/review-drawer-*.js', (route) => route.abort())
  await own.page.click('[data-revoke]')
  await own.page.waitForSelector('dialog[open] [data-not-loaded]')
  await checkScreens(own.page, 'not-loaded')
  await own.page.unroute('**/review-drawer-*.js')
  await own.page.click('[data-not-loaded] button:has-text("Try again")')
  await own.page.waitForSelector('[data-drawer=revoke] [data-effects=ready]')
})

it('shows that the script of a page did not load, and loads it when it is tried again', async () => {
  await own.unlock('/operator/help')
  await own.page.route('**/audit-*.js', (route) => route.abort())
  await own.page.click('.nav a:has-text("Audit")')
  await own.page.waitForSelector('main [data-not-loaded]')
  await own.page.unroute('**/audit-*.js')
  await own.page.click('[data-not-loaded] button:has-text("Try again")')
  await own.page.waitForSelector('tbody tr')
})

it('states that the stored draft of a policy cannot be read, and reads it when it is tried again', async () => {
  await own.unlock('/operator/help')
  await own.page.evaluate(`(() => {
    const { get } = IDBObjectStore.prototype
    IDBObjectStore.prototype.get = () => { throw new Error('The disk is full.') }
    window.repair = () => { IDBObjectStore.prototype.get = get }
  })()`)
  await show('/operator/policies/~new/draft')
  await own.page.waitForSelector('[data-not-read]:has-text("The browser reports: The disk is full.")')
  expect(await own.page.locator('[data-not-loaded]').count()).toBe(0)
  await own.page.evaluate('window.repair()')
  await own.page.click('[data-not-read] button:has-text("Try again")')
  await own.page.waitForSelector('textarea[aria-label="Policy as JSON"]')
})

it('states that the published list was not checked without a summary of it, and that it is older than that', async () => {
  const newer = { sequence: 1008, entries: 0, age_minutes: 0, next_update: '2099-01-01T00:00:00Z', overdue: false }
  let revocation_list: typeof newer | null = null
  await own.page.route('**/dashboard.json', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), revocation_list } })
  })
  await own.unlock(`/operator/nodes/${keyToPath((await nodes())[0]?.node_public_key ?? '')}`)
  await own.page.waitForSelector('[data-listed="not-checked"]:has-text("the summary has no list")')
  revocation_list = newer
  await own.page.keyboard.press('R')
  await own.page.waitForSelector('[data-listed="no"] [data-list-age]:has-text("older than list #1,008")')
  await own.page.unrouteAll({ behavior: 'wait' })
})

it('says that the outcome is not certain when the response to an undo was lost, and where to check it', async () => {
  const key = (await nodes())[1]?.node_public_key ?? ''
  await own.unlock(`/operator/nodes/${keyToPath(key)}?do=label`)
  await own.page.fill('#field-label', 'Paris')
  await own.page.waitForSelector('[data-sign][aria-disabled=false]')
  await own.page.click('[data-sign]')
  await own.page.waitForSelector('.toast:has-text("Named the node Paris")')
  await own.page.route('**/admin/nodes/label', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await own.page.click('.toast >> text="Undo"')
  await own.page.waitForSelector('.toast:has-text("It is not certain whether it was undone")')
  expect(await own.page.getAttribute('.toast a:has-text("Check the label")', 'href')).toBe(
    `/operator/nodes/${keyToPath(key)}`,
  )
})
