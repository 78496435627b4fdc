import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { accepted, enroll, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyToPath } from '../../apps/console/src/operator/node-key.ts'
import { type CheckedPage, closePages, nextFrames, openPage, sharedBrowser, visit } from './browser.ts'
import { signIn } from './operator-page.ts'

let na: TestAuthority
let browser: Browser
let home: string
let checkedPage: CheckedPage
let page: Page
let node: NodeCaller
const keyFile = (name: string): string => join(home, `${name}.key`)
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startTestAuthority(), sharedBrowser()])
  home = await mkdtemp(join(tmpdir(), 'chancery-console-'))
  const write = (name: string): Promise<void> =>
    writeFile(keyFile(name), writePrivateKeyFile(testSeed(name), name), { mode: 0o600 })
  await Promise.all(['op-privileged', 'op-standard', 'op-stranger'].map(write))
  node = nodeCaller(na.url, await testSigner('n', 'console'), () => na.core.clock.now())
  await enroll(na, node)
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
  await rm(home, { recursive: true, force: true })
})
beforeEach(async () => {
  checkedPage = await openPage(browser, na.url)
  page = checkedPage.page
  await visit(checkedPage, `${na.url}/operator/nodes`)
})
afterEach(() => checkedPage.close())

describe('Trusted Types', () => {
  const attempt = (code: string): Promise<string> =>
    page.evaluate<string>(`(() => { try { ${code}; return 'done' } catch (error) { return error.name } })()`)

  it.each(['/operator', '/operator/nodes', '/', '/connectome'])(
    '%s: no text becomes markup or script',
    async (path) => {
      await visit(checkedPage, na.url + path)
      expect(await attempt('document.body.innerHTML = "<b>x</b>"')).toBe('TypeError')
      expect(await attempt('new DOMParser().parseFromString("<b>x</b>", "text/html")')).toBe('TypeError')
      expect(await attempt('document.createElement("script").src = "/x.js"')).toBe('TypeError')
      expect(await attempt('trustedTypes.createPolicy("other", { createHTML: (text) => text })')).toBe('TypeError')
      expect(await page.getAttribute('body', 'data-enriched')).toBe('done')
    },
  )
})

describe('the key', () => {
  it('stays in the page: nothing is stored, and nothing is left after its removal', async () => {
    await signIn(page, keyFile('op-privileged'))
    await page.waitForSelector('.keychip:has-text("op-privileged")')
    const saved = await page.evaluate(
      'Promise.all([indexedDB.databases(), Object.keys(localStorage), Object.keys(sessionStorage), document.cookie])',
    )
    // The fingerprint of the network is stored, and nothing of the key.
    expect(saved).toEqual([[], ['chancery.pin'], [], ''])
    expect(await page.evaluate('localStorage.getItem("chancery.pin")')).not.toContain(testSeed('op-privileged'))
    expect(await page.content()).not.toContain(testSeed('op-privileged'))
    // Rows were read with the key, so that the lock has something to remove.
    await page.waitForSelector('tbody .name')
    const signed: string[] = []
    await page.click('.side button[aria-label="Lock now"]')
    await page.waitForSelector('main.alone [role=status]:has-text("You locked the console.")')
    page.on('request', (request) => {
      if ('x-admin-signature' in request.headers()) signed.push(request.url())
    })
    expect(await page.locator('#key-file').count()).toBe(1)
    expect(await page.locator('tbody, .keychip').count()).toBe(0)
    // Another page of the console needs the key again. A page with a key would read its rows now.
    await page.evaluate(`history.pushState({}, '', '/operator/agents'); dispatchEvent(new PopStateEvent('popstate'))`)
    await page.waitForSelector('main.alone b:has-text("Agents")')
    await nextFrames(page)
    expect(await page.locator('tbody, .keychip').count()).toBe(0)
    expect(signed).toEqual([])
    // The evidence store is off here, so the browser logs the refused request of the page.
    expect(checkedPage.trouble.filter((text) => !text.includes('status of 404'))).toEqual([])
  })

  it('is removed after a time without input, with all prepared requests, and the page reports it', async () => {
    const own = await openPage(browser, na.url)
    await own.page.clock.install()
    await visit(own, `${na.url}/operator/nodes`)
    await signIn(own.page, keyFile('op-privileged'))
    await own.page.waitForSelector('tbody .name')
    await own.page.clock.fastForward('14:00')
    await own.page.keyboard.press('Shift')
    await own.page.clock.fastForward('14:00')
    expect(await own.page.locator('tbody .name').count()).toBeGreaterThan(0)
    await own.page.clock.fastForward('02:00')
    await own.page.waitForSelector('text=The key was removed after 15 minutes without input.')
    expect(await own.page.locator('tbody').count()).toBe(0)
    await own.close()
  })

  it('is refused at sign-in when the authority does not have it', async () => {
    await signIn(page, keyFile('op-stranger'))
    await page.waitForSelector('#operator [role=alert]')
    expect(await page.locator('tbody').count()).toBe(0)
  })

  it('of the lower tier gets an error for an operation above its tier, and nothing changes', async () => {
    const before = accepted(await na.request('GET', '/crl'))
    await visit(checkedPage, `${na.url}/operator/nodes/${keyToPath(node.key)}?do=revoke`)
    // The review runs a dry run, which is open to this tier; the revocation itself is not.
    await signIn(page, keyFile('op-standard'))
    await page.waitForSelector('[data-effects=ready]:has-text("1 certificate end")')
    await page.fill('#typed-confirmation', (await page.textContent('label[for=typed-confirmation] b')) ?? '')
    await page.click('[data-sign]')
    await page.waitForSelector('[data-code=insufficient_operator_tier]')
    expect(accepted(await na.request('GET', '/crl'))['sequence']).toBe(before['sequence'])
  })
})
