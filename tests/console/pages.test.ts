import { type TestAuthority, accepted } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closePages, openPage, screenshotOf, sharedBrowser, visit } from './browser.ts'
import { NETWORK, issueTreaty, startNetwork } from './network.ts'

let na: TestAuthority
let browser: Browser
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startNetwork(), sharedBrowser()])
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
})

/** Simulates hiding: a headless browser cannot hide a page. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

describe('the overview', () => {
  it('refreshes while it is visible, and shows its refresh state', async () => {
    const checkedPage = await openPage(browser, na.url)
    await checkedPage.page.clock.install()
    await visit(checkedPage, na.url)
    await checkedPage.page.click('summary:has-text("more")')
    await checkedPage.page.evaluate('document.activeElement.blur()')
    const treaty = await issueTreaty(na, 'LATECOMER')
    expect(await checkedPage.page.textContent('main')).not.toContain(String(treaty['treaty_id']))
    await checkedPage.page.clock.runFor(16_000)
    // Visible: the part that the reader opened stays open.
    await checkedPage.page.waitForSelector(`details >> text=LATECOMER`)
    expect(await checkedPage.page.textContent('#live')).toContain('live')
    // A hidden page makes no requests.
    await setHidden(checkedPage.page, true)
    expect(await checkedPage.page.textContent('#live')).toContain('paused')
    let asked = 0
    checkedPage.page.on('request', () => (asked += 1))
    await checkedPage.page.clock.runFor(120_000)
    expect(asked).toBe(0)
    await setHidden(checkedPage.page, false)
    await checkedPage.page.waitForSelector('#live:has-text("live")')
    expect(asked).toBe(1)
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })
})

describe('the connectome', () => {
  const open = async () => {
    const checkedPage = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    await visit(checkedPage, `${na.url}/connectome`)
    return checkedPage
  }

  it('draws the trust path between two networks', async () => {
    const checkedPage = await open()
    const { page } = checkedPage
    await page.fill('#go-to', NETWORK)
    await page.press('#go-to', 'Tab')
    await page.fill('#path-target', 'GLACIER')
    await page.press('#path-target', 'Enter')
    await page.waitForSelector('[data-drawn-path="3"]')
    expect(await page.textContent('[data-drawn-path]')).toBe(`${NETWORK} → MERIDIAN → FJORD → GLACIER`)
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })

  it('draws the path requested in the address', async () => {
    const checkedPage = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    await visit(checkedPage, `${na.url}/connectome?from=${NETWORK}&to=FJORD`)
    await checkedPage.page.waitForSelector('[data-drawn-path="2"]')
    await checkedPage.close()
  })

  it('draws the paths lost by ending a treaty, like the dry run of the authority', async () => {
    const checkedPage = await open()
    const { page } = checkedPage
    await page.fill('#go-to', NETWORK)
    await page.press('#go-to', 'Tab')
    await page.click('button:has-text("recognises MERIDIAN")')
    await page.click('text=Show the impact of ending this treaty')
    await page.waitForSelector('[data-drawn-cut="1"]')
    const { recognition_treaties } = accepted(
      await na.request('GET', `/recognition-treaties?subject_sovereign_id=MERIDIAN&issuer_sovereign_id=${NETWORK}`),
    )
    const [row] = recognition_treaties as { treaty: { treaty_id: string } }[]
    const preview = accepted(
      await na.as('privileged')('POST', `/admin/recognition-treaties/${row?.treaty.treaty_id ?? ''}/revoke`, {
        dry_run: true,
      }),
    )
    const lost = preview['paths_lost'] as { count: number; sample: { from: string; to: string }[] }
    const text = await page.textContent('[data-drawn-cut]')
    expect(text).toContain(`${lost.count} trust paths would be lost`)
    for (const { from, to } of lost.sample) expect(text).toContain(`${from} → ${to}`)
    await screenshotOf(page, '.explorer', 'connectome-dry-run-1440-light')
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })

  it('draws the networks affected by an imported revocation, like /connectome.json', async () => {
    const checkedPage = await open()
    const { page } = checkedPage
    await page.click('a[data-issuer="BOREALIS"]')
    await page.waitForSelector('[data-drawn-cut]')
    const { revocation_blast_radius } = accepted(await na.request('GET', '/connectome.json'))
    const [blast] = revocation_blast_radius as { affected_accepting_sovereigns: string[] }[]
    expect(blast?.affected_accepting_sovereigns).not.toHaveLength(0)
    expect(await page.textContent('[data-drawn-cut]')).toBe(
      `Members of BOREALIS are accepted by ${blast?.affected_accepting_sovereigns.join(', ')}.`,
    )
    await screenshotOf(page, '.explorer', 'connectome-blast-1440-light')
    await checkedPage.close()
  })

  it.each([
    ['a treaty of this authority', 'recognises MERIDIAN', 'verified'],
    ['a forged treaty', 'recognises BOREALIS', 'not valid'],
    ['an expired treaty', 'recognises DELTA', 'not valid'],
  ])('verifies %s in the browser', async (_what, label, verdict) => {
    const checkedPage = await open()
    // The authority stores no record that it did not sign, so the response is changed in transit.
    await checkedPage.page.route('**/recognition-treaties/forged-1', async (route) => {
      const response = await route.fetch()
      const row = (await response.json()) as { treaty: { scope: object } }
      const scope = { ...row.treaty.scope, allowed_roles: ['role:operator'] }
      await route.fulfill({ response, json: { ...row, treaty: { ...row.treaty, scope } } })
    })
    await checkedPage.page.fill('#go-to', NETWORK)
    await checkedPage.page.press('#go-to', 'Tab')
    await checkedPage.page.click(`button:has-text("${label}")`)
    await checkedPage.page.waitForSelector(`[data-verdict="${verdict}"]`)
    await checkedPage.close()
  })

  it('shows no verdict on a treaty of another network, opened from the table', async () => {
    const checkedPage = await open()
    await checkedPage.page.click('summary:has-text("more")')
    await checkedPage.page.click('a[href="/recognition-treaties/foreign-1"]')
    await checkedPage.page.waitForSelector('[data-verdict="not verified here"]')
    await checkedPage.close()
  })

  it('can be moved and zoomed with the keyboard', async () => {
    const checkedPage = await open()
    const picture = (): Promise<string> => checkedPage.page.evaluate("document.querySelector('canvas').toDataURL()")
    await checkedPage.page.focus('canvas')
    const seen = [await picture()]
    for (const key of ['ArrowLeft', '+', '0']) {
      await checkedPage.page.keyboard.press(key)
      await checkedPage.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      seen.push(await picture())
    }
    expect(new Set(seen.slice(0, 3)).size).toBe(3)
    expect(seen[3]).toBe(seen[0])
    await checkedPage.close()
  })
})

describe('the atlas', () => {
  it('shows no second map, and exports the map as one file without external resources', async () => {
    const checkedPage = await openPage(browser, na.url)
    await visit(checkedPage, `${na.url}/atlas`)
    // The one map is on /connectome.
    expect(await checkedPage.page.locator('[data-map]:visible').count()).toBe(0)
    expect(await checkedPage.page.locator('caption:text-is("Treaties")').count()).toBe(1)
    const [download] = await Promise.all([
      checkedPage.page.waitForEvent('download'),
      checkedPage.page.click('text=Export as SVG'),
    ])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    expect(download.suggestedFilename()).toBe('atlas.svg')
    expect(text).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
    expect(text).toContain('GLACIER')
    expect(text).not.toContain('class=')
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })
})

describe('the API reference', () => {
  it('lets a reader try read and verify routes only', async () => {
    const checkedPage = await openPage(browser, na.url)
    const { page } = checkedPage
    await visit(checkedPage, `${na.url}/api-reference`)
    await page.click('[data-route="GET /healthz"] summary')
    await page.click('[data-route="GET /healthz"] button')
    await page.waitForSelector('[data-route="GET /healthz"] pre:has-text("ok")')
    await page.click('[data-route="POST /recognition-treaties/verify"] summary')
    await page.click('[data-route="POST /recognition-treaties/verify"] button')
    await page.waitForSelector('[data-route="POST /recognition-treaties/verify"] [role=status]:has-text("4")')
    for (const route of ['POST /join', 'POST /admin/revoke', 'GET /admin/policy/history']) {
      await page.click(`[data-route="${route}"] summary`)
      expect(await page.locator(`[data-route="${route}"] form`).count()).toBe(0)
    }
    // The browser itself logs a refused request. It must log nothing else.
    expect(checkedPage.trouble.filter((text) => !text.includes('status of 4'))).toEqual([])
    await checkedPage.close()
  })
})
