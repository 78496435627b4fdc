import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JsonObject, MINUTE, writePrivateKeyFile, writeSortable } from '@chancery/protocol'
import { accepted, createInvite, enroll, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { keyToPath } from '../../apps/console/src/operator/node-key.ts'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'
import { type CheckedPage, axeFindings, closePages, openPage, sharedBrowser, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { registerAgent } from './frame-setup.ts'
import { signIn } from './operator-page.ts'

let na: TestAuthority
let browser: Browser
let home: string
let checkedPage: CheckedPage
let page: Page
let silent: NodeCaller
const certificates: string[] = []
const newNode = async (seed: string): Promise<NodeCaller> =>
  nodeCaller(na.url, await testSigner('n', seed), () => na.core.clock.now())

beforeAll(async () => {
  ;[na, browser] = await Promise.all([startTestAuthority(), sharedBrowser()])
  home = await mkdtemp(join(tmpdir(), 'chancery-node-pages-'))
  await writeFile(join(home, 'op.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), {
    mode: 0o600,
  })
  for (let i = 0; i < 3; i += 1) await enroll(na, await newNode(`active ${i}`))
  silent = await newNode('silent')
  // Two certificates of one key: a revocation with siblings ends both.
  for (let i = 0; i < 2; i += 1) certificates.push((await enroll(na, silent)).cert_id)
  await registerAgent(na, 'silent', 'sleeper', 'sleep.well')
  accepted(await na.as('standard')('POST', '/admin/nodes/label', { node_public_key: silent.key, label: 'Berlin 3' }))
  await rowsOf(na.core.database)
    .updateTable('node_liveness')
    .set({ last_heartbeat: writeSortable(na.core.clock.now() - 20n * MINUTE) })
    .where('cert_id', 'in', certificates)
    .execute()
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
  await rm(home, { recursive: true, force: true })
})
beforeEach(async () => {
  checkedPage = await openPage(browser, na.url)
  page = checkedPage.page
})
afterEach(() => checkedPage.close())

const open = async (path: string): Promise<void> => {
  await visit(checkedPage, `${na.url}${path}`)
  await signIn(page, join(home, 'op.key'))
}

/** Presses what is shown, and counts. */
function counter(): { readonly click: (selector: string) => Promise<void>; count: number } {
  const clicks = {
    count: 0,
    async click(selector: string) {
      clicks.count += 1
      await page.click(selector)
    },
  }
  return clicks
}

const revoked = async (): Promise<readonly unknown[]> => {
  const list = accepted(await na.request('GET', '/crl'))
  return (list['revoked_certificates'] as readonly JsonObject[]).map((entry) => entry['certificate_id'])
}

it('finds a silent node and revokes it with its siblings in at most 8 clicks', async () => {
  await open('/operator/nodes')
  await page.waitForSelector('tbody tr:nth-child(4)')
  await checkScreens(page, 'nodes')
  const clicks = counter()
  await clicks.click('.tabs >> text=Silent')
  await page.waitForSelector('tbody tr:only-child')
  await clicks.click('td >> text=Berlin 3')
  await page.waitForSelector('.timeline >> text=Silent')
  await page.waitForSelector('.panel >> text=verified in this browser')
  await checkScreens(page, 'node')
  await clicks.click('[data-revoke]')
  await page.waitForSelector('[data-effects=ready] >> text=2 certificates end')
  await page.waitForSelector('[data-effects=ready] >> text=1 agent removed from the registry')
  await checkScreens(page, 'node-revoke')
  // The dry run changed nothing.
  expect(await revoked()).toEqual([])
  expect(await page.getAttribute('[data-sign]', 'aria-disabled')).toBe('true')
  await clicks.click('#typed-confirmation')
  await page.keyboard.type('Berlin 3')
  await clicks.click('[data-sign]')
  await page.waitForSelector('.toast >> text=Revoked Berlin 3.')
  await page.waitForSelector('.timeline >> text=Revoked')
  expect(clicks.count).toBeLessThanOrEqual(8)
  expect(await revoked()).toEqual(expect.arrayContaining(certificates))
  await page.waitForSelector('[data-revoke]', { state: 'detached' })
  // The published list has it, which this browser verified.
  await page.waitForSelector('[data-listed="yes"]:has-text("verified in this browser")', { timeout: 60_000 })
  expect(checkedPage.trouble).toEqual([])
})

it('revokes several nodes at once, after their number was typed', async () => {
  const gone = [await enroll(na, await newNode('gone 1')), await enroll(na, await newNode('gone 2'))]
  await open('/operator/nodes?q=127.0.0.1')
  for (const { node_public_key } of gone)
    await page.check(`tr:has([href$="${keyToPath(node_public_key)}"]) input[type=checkbox]`)
  await page.click('.pick >> text=Revoke…')
  await page.waitForSelector('[data-effects=ready] >> text=2 certificates end')
  await page.fill('#typed-confirmation', 'revoke 2 nodes')
  await page.click('[data-sign]')
  await page.waitForSelector('.toast >> text=Revoked 2 nodes.')
  expect(await revoked()).toEqual(expect.arrayContaining(gone.map(({ cert_id }) => cert_id)))
  expect(checkedPage.trouble).toEqual([])
})

it('withdraws an open invite, with which no node joins then', async () => {
  const token = await createInvite(na)
  await open('/operator/nodes?tab=invites')
  await page.waitForSelector('td >> text=Withdraw…')
  await checkScreens(page, 'invites')
  await page.click('td >> text=Withdraw…')
  await page.waitForSelector('[data-effects=ready] >> text=1 unused invite ends')
  await page.click('[data-sign]')
  await page.waitForSelector('.toast >> text=Withdrew the invite.')
  await page.waitForSelector('text=No open invite')
  expect((await (await newNode('late')).join(token)).status).toBe(403)
  expect(checkedPage.trouble).toEqual([])
})

it('opens the node of a certificate, and names the node', async () => {
  const node = await newNode('unnamed')
  const { cert_id } = await enroll(na, node)
  await open('/operator/help')
  await page.waitForSelector('.keychip')
  // A certificate with another role than the signed one does not verify.
  await page.route('**/admin/nodes/*', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replaceAll('"role:', '"role:x') })
  })
  const show = `history.pushState({}, '', '/operator/certificates/${cert_id}'); dispatchEvent(new PopStateEvent('popstate'))`
  await page.evaluate(show)
  await page.waitForSelector('.panel >> text=The certificate does not verify (invalid_signature).')
  expect(new URL(page.url()).search).toBe(`?cert=${cert_id}`)
  await page.unroute('**/admin/nodes/*')
  await page.keyboard.press('R')
  await page.waitForSelector('.panel >> text=verified in this browser')
  await page.click('text=Name it')
  await page.fill('#field-label', 'Hamburg 1')
  await page.waitForSelector('[data-effects=ready] >> text=Hamburg 1')
  await page.click('[data-sign]')
  await page.waitForSelector('h1 >> text=Hamburg 1')
  expect(checkedPage.trouble).toEqual([])
})

it('finds an agent by its capability in 2 clicks, and verifies its signature', async () => {
  await open('/operator/agents')
  await page.waitForSelector('text=No agent is registered')
  await registerAgent(na, 'active 0', 'payer', 'pay.invoice')
  await registerAgent(na, 'active 1', 'weigher', 'weigh.cargo')
  await page.keyboard.press('R')
  await page.waitForSelector('tbody tr:nth-child(2) >> text=Verified here')
  await page.waitForSelector('.pager >> text=1 to 2 of 2, newest first')
  await checkScreens(page, 'agents')
  const clicks = counter()
  await clicks.click('[data-capability="pay.invoice"] >> text=1')
  await page.waitForSelector('tbody tr:only-child >> text=https://payer.example.org:443')
  expect(new URL(page.url()).search).toBe('?capability=pay.invoice')
  await clicks.click('td >> text=payer')
  await page.waitForSelector('h1 >> text=payer')
  await page.waitForSelector('text=Verified here')
  expect(clicks.count).toBe(2)
  await checkScreens(page, 'agent')
  await page.goBack()
  await page.waitForSelector('tbody tr:only-child')
  await page.click('td >> text=node ')
  await page.waitForSelector('.timeline')
  expect(checkedPage.trouble).toEqual([])
})

it('searches agents at the authority by the begin of id, host or capability', async () => {
  await registerAgent(na, 'active 0', 'payer', 'pay.invoice')
  await registerAgent(na, 'active 1', 'weigher', 'weigh.cargo')
  await open('/operator/agents?q=weigh.')
  await page.waitForSelector('tbody tr:only-child >> text=weigher')
  await page.fill('[data-search]', 'payer.ex')
  await page.waitForSelector('tbody tr:only-child >> text=payer')
  await page.fill('[data-search]', 'no such agent')
  await page.waitForSelector('text=No agents match this search and these filters.')
  await page.click('text=Clear search and filters')
  await page.waitForSelector('tbody tr:nth-child(2)')
  expect(checkedPage.trouble).toEqual([])
})

it('finds nodes and agents in the palette', async () => {
  await registerAgent(na, 'active 0', 'payer', 'pay.invoice')
  await open('/operator')
  await page.waitForSelector('.keychip')
  await page.keyboard.press('Control+k')
  await page.waitForSelector('.palette input:focus')
  await page.keyboard.type('pay.inv')
  await page.waitForSelector('.palette [role=option] >> text=agent · pay.invoice')
  expect(await axeFindings(page)).toEqual([])
  await page.keyboard.press('Enter')
  await page.waitForSelector('h1 >> text=payer')
  await page.keyboard.press('Control+k')
  await page.waitForSelector('.palette input:focus')
  await page.keyboard.type('Berlin')
  await page.click('.palette [role=option] >> text=node · ')
  await page.waitForSelector('h1 >> text=Berlin 3')
  expect(checkedPage.trouble).toEqual([])
})

it('lists audit events by kind, and opens one', async () => {
  await open('/operator/audit')
  await page.waitForSelector('tbody .name')
  await checkScreens(page, 'audit')
  await page.click('.tabs >> text=Nodes')
  await page.waitForSelector('td >> text=A node was named Berlin 3.')
  expect(await page.locator('td >> text=crl_published').count()).toBe(0)
  await page.click('td >> text=A node was named Berlin 3.')
  await page.waitForSelector('[data-drawer=event] >> text=node_label_set')
  await checkScreens(page, 'audit-event')
  await page.keyboard.press('Escape')
  await page.waitForSelector('[data-drawer=event]', { state: 'detached' })
  expect(checkedPage.trouble).toEqual([])
})

it('revokes an operator key after its id was typed', async () => {
  await open('/operator/keys')
  await page.waitForSelector('[data-key=op-standard]')
  await checkScreens(page, 'keys')
  await page.click('[data-key=op-standard] >> text=Revoke…')
  await page.waitForSelector('[data-effects=ready] >> text=remain')
  await page.fill('#typed-confirmation', 'op-standard')
  await page.click('[data-sign]')
  await page.waitForSelector('[data-key=op-standard] >> text=Revoked')
  expect((await na.as('standard')('GET', '/admin/whoami')).status).toBe(401)
  expect(checkedPage.trouble).toEqual([])
})
