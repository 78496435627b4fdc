import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import { type TestAuthority, startTestAuthority, testSeed } from '@chancery/testkit'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closePages, openPage, sharedBrowser, visit } from './browser.ts'
import { signIn } from './operator-page.ts'
import { FRAMES, SAFE_NETWORK, payload, seedPayloads, visitPayloads } from './payloads.ts'
import { untested, visitMalicious } from './malicious/visit.ts'

/** The campaign console-hostile uses 5,000. */
const COUNT = 100

/**
 * payloads.nightly.test.ts has more texts, and opens every tab and drawer. The campaign console-hostile uses 5,000. This
 * seed gives a script, a name that every field stores, and letters with many marks.
 */
const MALICIOUS = 3
const SEED = 285

let na: TestAuthority
let browser: Browser
let home: string
let keyFile: string
beforeAll(async () => {
  ;[na, browser] = await Promise.all([
    startTestAuthority({
      network: SAFE_NETWORK,
      settings: { NA_RATE_LIMIT_ADMIN_PER_MINUTE: '100000', EVIDENCE_STORE: 'on' },
    }),
    sharedBrowser(),
  ])
  home = await mkdtemp(join(tmpdir(), 'chancery-payloads-'))
  keyFile = join(home, 'op.key')
  await writeFile(keyFile, writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), { mode: 0o600 })
  await seedPayloads(na, COUNT)
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
  await rm(home, { recursive: true, force: true })
})

describe(`${COUNT} script payloads in every displayed field`, () => {
  it('never run, and the content policy reports nothing', async () => {
    expect(await visitPayloads(na, browser, COUNT)).toEqual([])
  })

  it('are shown as text when a treaty is opened', async () => {
    const checkedPage = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    const { page } = checkedPage
    await visit(checkedPage, `${na.url}/connectome`)
    // Most rows are folded.
    for (const fold of await page.locator('details.folded > summary').all()) await fold.click()
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

  it('are shown as text in the drawer that ends a treaty', async () => {
    const checkedPage = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    const { page } = checkedPage
    await visit(checkedPage, `${na.url}/operator/help`)
    await signIn(page, keyFile)
    await page.waitForSelector('.keychip')
    // Even numbers are treaties of this network; every third one has ended.
    for (const i of [44, 46, 50, 52, 56, 58, 62, 64, 68, 70]) {
      const path = `/operator/partners/${encodeURIComponent(`to-${payload(i)}`)}?do=end`
      await page.evaluate(
        `history.pushState({}, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
      )
      const drawer = page.locator('[data-drawer=end]', { hasText: `to-${payload(i)}` })
      await drawer.locator('[data-effects=ready]').waitFor()
      await drawer.locator('#field-reason').fill(payload(i))
      await drawer.locator('[data-effects=ready]', { hasText: `→ to-${payload(i)}` }).waitFor()
      expect(await page.evaluate('window.ran')).toBeUndefined()
    }
    // Networks that are not added as partners are refused requests of the page.
    expect(checkedPage.trouble.filter((text) => !text.includes('status of 404'))).toEqual([])
    await checkedPage.close()
  })
})

it(`shows ${MALICIOUS} malicious texts on every page without running one or breaking a layout`, async () => {
  const visited = await visitMalicious(MALICIOUS, SEED, 'pages')
  expect(visited.problems).toEqual([])
  expect(Object.keys(visited.stored)).toContain('decision')
  expect(untested(visited)).toEqual([])
})
