import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { accepted, enroll, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { closePages, openPage, sharedBrowser, visit } from './browser.ts'
import type { CheckedPage } from './browser.ts'
import { card, openOperatorPage, signIn } from './operator-page.ts'

let na: TestAuthority
let browser: Browser
let home: string
let checkedPage: CheckedPage
let page: Page
const keyFile = (name: string): string => join(home, `${name}.key`)
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startTestAuthority(), sharedBrowser()])
  home = await mkdtemp(join(tmpdir(), 'chancery-console-'))
  const write = (name: string): Promise<void> =>
    writeFile(keyFile(name), writePrivateKeyFile(testSeed(name), name), { mode: 0o600 })
  await Promise.all(['op-privileged', 'op-standard', 'op-stranger'].map(write))
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
  await rm(home, { recursive: true, force: true })
})
beforeEach(async () => {
  checkedPage = await openPage(browser, na.url)
  page = checkedPage.page
  await visit(checkedPage, `${na.url}/operator/all-actions`)
})
afterEach(() => checkedPage.close())

describe('the signed request', () => {
  const CERT = '#revoke-cert_id'
  const openRevoke = async (certId: string): Promise<void> => {
    await signIn(page, keyFile('op-privileged'))
    await page.click(`${card('revoke')} > summary`)
    await page.fill(CERT, certId)
  }
  /** Two active certificates. */
  const twoIds = async (): Promise<readonly [string, string]> => {
    const ids: string[] = []
    for (const seed of ['signed request 1', 'signed request 2']) {
      const node = nodeCaller(na.url, await testSigner('n', seed), () => na.core.clock.now())
      ids.push((await enroll(na, node)).cert_id)
    }
    return [ids[0] ?? '', ids[1] ?? '']
  }

  it('has the body that the review showed', async () => {
    const [id] = await twoIds()
    await openRevoke(id)
    await page.click(`${card('revoke')} form > button`)
    const shown = JSON.parse((await page.textContent(`${card('revoke')} [data-body]`)) ?? '') as unknown
    expect(shown).toEqual({ cert_id: id, reason: 'unspecified' })
    await page.check(`${card('revoke')} input[type=checkbox]`)
    const [request] = await Promise.all([
      page.waitForRequest((each) => each.url().endsWith('/admin/revoke')),
      page.click(`${card('revoke')} >> text=Sign and send`),
    ])
    expect(request.postDataJSON()).toEqual(shown)
    await page.waitForSelector(`${card('revoke')} [data-done]`)
  })

  it('is never shown with the preview of an earlier input: a late preview is dropped', async () => {
    const [first, second] = await twoIds()
    const current: (() => void)[] = []
    await page.route('**/admin/revoke', async (route) => {
      if (route.request().postDataJSON().cert_id === first) await new Promise<void>((go) => current.push(go))
      await route.continue()
    })
    await openRevoke(first)
    await page.click(`${card('revoke')} form > button`)
    await expect.poll(() => current.length, { timeout: 30_000 }).toBe(1)
    await page.fill(CERT, second)
    const late = page.waitForResponse((each) => each.url().endsWith('/admin/revoke'))
    current[0]?.()
    await late
    // The second preview ends after the first, so that the first could have been shown.
    await page.click(`${card('revoke')} form > button`)
    await page.waitForSelector(`${card('revoke')} [data-preview]`)
    expect(await page.textContent(`${card('revoke')} .review`)).not.toContain(first)
    expect(JSON.parse((await page.textContent(`${card('revoke')} [data-body]`)) ?? '')).toMatchObject({
      cert_id: second,
    })
  })

  it('drops a late preview when it is the only one', async () => {
    const [first, second] = await twoIds()
    const current: (() => void)[] = []
    await page.route('**/admin/revoke', async (route) => {
      await new Promise<void>((go) => current.push(go))
      await route.continue()
    })
    await openRevoke(first)
    await page.click(`${card('revoke')} form > button`)
    await expect.poll(() => current.length, { timeout: 30_000 }).toBe(1)
    await page.fill(CERT, second)
    const late = page.waitForResponse((each) => each.url().endsWith('/admin/revoke'))
    current[0]?.()
    await late
    // Its few bytes arrive with the head. `finished()` would never resolve when the page has dropped the response.
    await page.waitForTimeout(500)
    expect(await page.locator(`${card('revoke')} .review`).count()).toBe(0)
  })
})

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
    await page.click('button[aria-label="Lock now"]')
    await page.waitForSelector('#key-file')
    expect(await page.locator('.action').count()).toBe(0)
    // The evidence store is off here, so the browser logs the refused request of the page.
    expect(checkedPage.trouble.filter((text) => !text.includes('status of 404'))).toEqual([])
  })

  it('is removed after a time without input, with all prepared requests, and the page reports it', async () => {
    const own = await openPage(browser, na.url)
    await own.page.clock.install()
    await visit(own, `${na.url}/operator/all-actions`)
    await signIn(own.page, keyFile('op-privileged'))
    await own.page.waitForSelector('.action')
    await own.page.clock.fastForward('14:00')
    await own.page.keyboard.press('Shift')
    await own.page.clock.fastForward('14:00')
    expect(await own.page.locator('.action').count()).toBeGreaterThan(0)
    await own.page.clock.fastForward('02:00')
    await own.page.waitForSelector('text=The key was removed after 15 minutes without input.')
    expect(await own.page.locator('.action').count()).toBe(0)
    await own.close()
  })

  it('is refused at sign-in when the authority does not have it', async () => {
    await signIn(page, keyFile('op-stranger'))
    await page.waitForSelector('#operator [role=alert]')
    expect(await page.locator('.action').count()).toBe(0)
  })

  it('of the lower tier gets an error for an operation above its tier, and nothing changes', async () => {
    const node = nodeCaller(na.url, await testSigner('n', 'console'), () => na.core.clock.now())
    await enroll(na, node)
    const before = accepted(await na.request('GET', '/crl'))
    const { nodes } = accepted(await na.as('standard')('GET', '/nodes'))
    // The review runs a dry run, which is open to this tier; the revocation itself is not.
    const operatorPage = await openOperatorPage(browser, na.url, keyFile('op-standard'))
    await operatorPage.write('revoke', { cert_id: Object.keys(nodes ?? {})[0] ?? '' })
    await operatorPage.page.check(`${card('revoke')} input[type=checkbox]`)
    await operatorPage.page.click(`${card('revoke')} >> text=Sign and send`)
    const alert = await operatorPage.page.textContent(`${card('revoke')} [role=alert]`)
    expect(alert).toMatch(/tier|privileged/i)
    await operatorPage.close()
    expect(accepted(await na.request('GET', '/crl'))['sequence']).toBe(before['sequence'])
  })
})
