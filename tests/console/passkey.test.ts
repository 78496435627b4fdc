import type { Page } from 'playwright-core'
import { testSeed } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CheckedPage, openPage, visit } from './browser.ts'
import { type FrameSetup, openFrameSetup } from './frame-setup.ts'
import { signIn } from './operator-page.ts'

let setup: FrameSetup
let url: string
beforeAll(async () => {
  setup = await openFrameSetup()
  // A passkey belongs to a host name; an address of numbers has none.
  url = setup.na.url.replace('127.0.0.1', 'localhost')
})
afterAll(() => setup.close())

/** Adds an authenticator of Chromium to the page. */
async function addAuthenticator(page: Page, hasPrf: boolean): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      hasPrf,
    },
  })
}

async function storeKey(hasPrf: boolean): Promise<CheckedPage> {
  const checkedPage = await openPage(setup.browser, url)
  const { page } = checkedPage
  await addAuthenticator(page, hasPrf)
  await visit(checkedPage, `${url}/operator/help`)
  await page.check('[data-passkey=store]')
  await signIn(page, setup.keyFile)
  await page.waitForSelector('.keychip')
  return checkedPage
}

describe('a passkey', () => {
  it('opens the stored key after a reload, and the record alone opens nothing', async () => {
    const checkedPage = await storeKey(true)
    const { page } = checkedPage
    await page.waitForSelector('text=The key is stored under your passkey.')
    const record: string = await page.evaluate(
      `new Promise((done) => { indexedDB.open('chancery-console').onsuccess = ({ target }) => {
        target.result.transaction('passkeys').objectStore('passkeys').getAll().onsuccess = (event) => done(JSON.stringify(event.target.result))
      } })`,
    )
    expect(record).toContain('op-privileged')
    expect(record).not.toContain(testSeed('op-privileged'))
    await page.reload()
    await page.click('[data-passkey=open]')
    await page.waitForSelector('.keychip:has-text("op-privileged")')

    // The same record in a browser without that authenticator.
    const other = await openPage(setup.browser, url)
    await addAuthenticator(other.page, true)
    await visit(other, `${url}/operator`)
    await other.page.evaluate(
      `new Promise((done) => { const opening = indexedDB.open('chancery-console', 1)
        opening.onupgradeneeded = () => opening.result.createObjectStore('passkeys', { keyPath: 'key_id' })
        opening.onsuccess = () => { opening.result.transaction('passkeys', 'readwrite').objectStore('passkeys').put(${record}[0]).onsuccess = () => { opening.result.close(); done() } } })`,
    )
    await other.page.reload()
    await other.page.click('[data-passkey=open]')
    await other.page.waitForSelector('[role=alert]')
    expect(await other.page.locator('.keychip').count()).toBe(0)
    await other.close()

    await page.reload()
    await page.click('text=Remove the stored key from this browser')
    await page.waitForSelector('[data-passkey=open]', { state: 'detached' })
    await page.reload()
    await page.waitForSelector('#key-file')
    expect(await page.locator('[data-passkey=open]').count()).toBe(0)
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })

  it('without PRF stores nothing, and the key is still open', async () => {
    const checkedPage = await storeKey(false)
    await checkedPage.page.waitForSelector('text=This authenticator cannot derive a secret')
    await checkedPage.page.reload()
    await checkedPage.page.waitForSelector('#key-file')
    expect(await checkedPage.page.locator('[data-passkey=open]').count()).toBe(0)
    await checkedPage.close()
  })
})
