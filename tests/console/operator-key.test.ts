import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { accepted, enroll, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openBrowser, openPage, visit } from './browser.ts'
import type { WatchedPage } from './browser.ts'
import { card, openDesk, signIn } from './desk.ts'

let na: TestAuthority
let browser: Browser
let home: string
let watched: WatchedPage
let page: Page
const keyFile = (name: string): string => join(home, `${name}.key`)
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startTestAuthority(), openBrowser()])
  home = await mkdtemp(join(tmpdir(), 'chancery-console-'))
  const write = (name: string): Promise<void> =>
    writeFile(keyFile(name), writePrivateKeyFile(testSeed(name), name), { mode: 0o600 })
  await Promise.all(['op-privileged', 'op-standard', 'op-stranger'].map(write))
})
afterAll(async () => {
  await browser.close()
  await na.stop()
  await rm(home, { recursive: true, force: true })
})
beforeEach(async () => {
  watched = await openPage(browser, na.url)
  page = watched.page
  await visit(watched, `${na.url}/operator`)
})
afterEach(() => watched.close())

describe('the key', () => {
  it('stays in the page: nothing is stored, and forgetting it leaves nothing', async () => {
    await signIn(page, keyFile('op-privileged'))
    await page.waitForSelector('text=key in this page')
    const kept = await page.evaluate(
      'Promise.all([indexedDB.databases(), Object.keys(localStorage), Object.keys(sessionStorage), document.cookie])',
    )
    expect(kept).toEqual([[], [], [], ''])
    expect(await page.content()).not.toContain(testSeed('op-privileged'))
    await page.click('text=Forget the key')
    await page.waitForSelector('#key-file')
    // The store is off here; that the desk asked is noted by the browser itself.
    expect(watched.trouble.filter((text) => !text.includes('status of 404'))).toEqual([])
  })

  it('is refused at once when the authority does not know it', async () => {
    await signIn(page, keyFile('op-stranger'))
    await page.waitForSelector('#desk [role=alert]')
    expect(await page.locator('.action').count()).toBe(0)
  })

  it('of the lower tier is told what it may not do, and nothing changes', async () => {
    const node = nodeCaller(na.url, await testSigner('n', 'console'), () => na.office.clock.now())
    await enroll(na, node)
    const before = accepted(await na.request('GET', '/crl'))
    const { nodes } = accepted(await na.as('standard')('GET', '/nodes'))
    const desk = await openDesk(browser, na.url, keyFile('op-standard'))
    await desk.write('revoke', { cert_id: Object.keys(nodes ?? {})[0] ?? '' })
    expect(await desk.page.textContent(`${card('revoke')} [role=alert]`)).toMatch(/tier|privileged/i)
    expect(accepted(await na.request('GET', '/crl'))['sequence']).toBe(before['sequence'])
    await desk.close()
  })
})
