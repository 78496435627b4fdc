import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { startTestAuthority, testSeed } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closePages, openPage, sharedBrowser, visit } from './browser.ts'
import { card, openOperatorPage } from './operator-page.ts'
import { FRAMES, SAFE_NETWORK, payload, seedPayloads, visitPayloads } from './payloads.ts'

/** The campaign console-payloads uses 5,000. */
const COUNT = 200

let na: TestAuthority
let browser: Browser
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startTestAuthority({ network: SAFE_NETWORK }), sharedBrowser()])
  await seedPayloads(na, COUNT)
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
})

describe(`${COUNT} script payloads in every displayed field`, () => {
  it('never run, and the content policy reports nothing', async () => {
    expect(await visitPayloads(na, browser, COUNT)).toEqual([])
  })

  it('are shown as text when a treaty is opened', async () => {
    const checkedPage = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    const { page } = checkedPage
    await visit(checkedPage, `${na.url}/connectome`)
    for (let i = 0; i < FRAMES.length; i += 1) {
      await page.click(`a[data-treaty][href="/recognition-treaties/${encodeURIComponent(`id-${payload(i)}`)}"]`)
      await page.locator('.inspector .treaty', { hasText: `to-${payload(i)}` }).waitFor()
      const issuer = page.locator('a[data-issuer]').nth(i)
      await issuer.click()
      await page.locator('[data-drawn-cut]', { hasText: (await issuer.getAttribute('data-issuer')) ?? '' }).waitFor()
      expect(await page.evaluate('window.ran')).toBeUndefined()
    }
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })

  it('are shown as text on the operator page, in the preview of a revocation', async () => {
    const home = await mkdtemp(join(tmpdir(), 'chancery-payloads-'))
    const keyFile = join(home, 'op.key')
    await writeFile(keyFile, writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), { mode: 0o600 })
    const operatorPage = await openOperatorPage(browser, na.url, keyFile)
    // Even numbers are treaties of this network; every third one has ended.
    for (const i of [44, 46, 50, 52, 56, 58, 62, 64, 68, 70]) {
      await operatorPage.write('treaty-revoke', { treaty_id: `id-${payload(i)}`, reason: payload(i) })
      expect(await operatorPage.page.textContent(`${card('treaty-revoke')} .review`)).toContain(`to-${payload(i)}`)
      expect(await operatorPage.page.evaluate('window.ran')).toBeUndefined()
    }
    // The evidence store is off here, so the browser logs the refused request of the page.
    expect(operatorPage.trouble.filter((text) => !text.includes('status of 404'))).toEqual([])
    await operatorPage.close()
    await rm(home, { recursive: true, force: true })
  })
})
