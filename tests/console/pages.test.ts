import { accepted } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser, openPage, screenshotOf, visit } from './browser.ts'
import { NETWORK, issueTreaty, startNetwork } from './network.ts'

let na: TestAuthority
let browser: Browser
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startNetwork(), openBrowser()])
})
afterAll(async () => {
  await browser.close()
  await na.stop()
})

/** A browser without a window has no way to hide a page. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

describe('the overview', () => {
  it('keeps itself up to date while somebody looks, and says so', async () => {
    const watched = await openPage(browser, na.url)
    await watched.page.clock.install()
    await visit(watched, na.url)
    const treaty = await issueTreaty(na, 'LATECOMER')
    expect(await watched.page.textContent('main')).not.toContain(String(treaty['treaty_id']))
    await watched.page.clock.runFor(16_000)
    await watched.page.waitForSelector(`text=LATECOMER`)
    expect(await watched.page.textContent('#live')).toContain('live')
    // Hidden, nobody looks: nothing is asked.
    await setHidden(watched.page, true)
    expect(await watched.page.textContent('#live')).toContain('paused')
    let asked = 0
    watched.page.on('request', () => (asked += 1))
    await watched.page.clock.runFor(120_000)
    expect(asked).toBe(0)
    await setHidden(watched.page, false)
    await watched.page.waitForSelector('#live:has-text("live")')
    expect(asked).toBe(1)
    expect(watched.trouble).toEqual([])
    await watched.close()
  })
})

describe('the connectome', () => {
  const open = async () => {
    const watched = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    await visit(watched, `${na.url}/connectome`)
    return watched
  }

  it('draws the trust path between two sovereigns', async () => {
    const watched = await open()
    const { page } = watched
    await page.fill('#go-to', NETWORK)
    await page.press('#go-to', 'Tab')
    await page.fill('#path-target', 'GLACIER')
    await page.press('#path-target', 'Enter')
    await page.waitForSelector('[data-drawn-path="3"]')
    expect(await page.textContent('[data-drawn-path]')).toBe(`${NETWORK} → MERIDIAN → FJORD → GLACIER`)
    expect(watched.trouble).toEqual([])
    await watched.close()
  })

  it('draws the path the page was asked for', async () => {
    const watched = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    await visit(watched, `${na.url}/connectome?from=${NETWORK}&to=FJORD`)
    await watched.page.waitForSelector('[data-drawn-path="2"]')
    await watched.close()
  })

  it('draws what ending a treaty would cut off, as the dry run of the authority says', async () => {
    const watched = await open()
    const { page } = watched
    await page.fill('#go-to', NETWORK)
    await page.press('#go-to', 'Tab')
    await page.click('button:has-text("recognises MERIDIAN")')
    await page.click('text=Draw what would end with it')
    await page.waitForSelector('[data-drawn-cut="1"]')
    const { recognition_treaties } = accepted(
      await na.request('GET', `/recognition-treaties?subject_sovereign_id=MERIDIAN&issuer_sovereign_id=${NETWORK}`),
    )
    const [row] = recognition_treaties as { treaty: { treaty_id: string } }[]
    const forecast = accepted(
      await na.as('privileged')('POST', `/admin/recognition-treaties/${row?.treaty.treaty_id ?? ''}/revoke`, {
        dry_run: true,
      }),
    )
    const lost = forecast['paths_lost'] as { count: number; sample: { from: string; to: string }[] }
    const text = await page.textContent('[data-drawn-cut]')
    expect(text).toContain(`${lost.count} trust paths would be lost`)
    for (const { from, to } of lost.sample) expect(text).toContain(`${from} → ${to}`)
    await screenshotOf(page, '.explorer', 'connectome-dry-run-1440-light')
    expect(watched.trouble).toEqual([])
    await watched.close()
  })

  it('draws whom an imported revocation touches, as /connectome.json says', async () => {
    const watched = await open()
    const { page } = watched
    await page.click('a[data-blast="BOREALIS"]')
    await page.waitForSelector('[data-drawn-cut]')
    const { revocation_blast_radius } = accepted(await na.request('GET', '/connectome.json'))
    const [blast] = revocation_blast_radius as { affected_accepting_sovereigns: string[] }[]
    expect(blast?.affected_accepting_sovereigns).not.toHaveLength(0)
    expect(await page.textContent('[data-drawn-cut]')).toBe(
      `Members of BOREALIS are accepted by ${blast?.affected_accepting_sovereigns.join(', ')}.`,
    )
    await screenshotOf(page, '.explorer', 'connectome-blast-1440-light')
    await watched.close()
  })

  it.each([
    ['a paper of this authority', 'recognises MERIDIAN', 'verified'],
    ['a forged paper', 'recognises BOREALIS', 'does not hold'],
    ['a paper whose time is over', 'recognises DELTA', 'does not hold'],
  ])('judges %s in the browser', async (_what, label, verdict) => {
    const watched = await open()
    // The authority keeps no record that it did not sign, so this one is changed on its way.
    await watched.page.route('**/recognition-treaties/forged-1', async (route) => {
      const response = await route.fetch()
      const row = (await response.json()) as { treaty: { scope: object } }
      const scope = { ...row.treaty.scope, allowed_roles: ['role:operator'] }
      await route.fulfill({ response, json: { ...row, treaty: { ...row.treaty, scope } } })
    })
    await watched.page.fill('#go-to', NETWORK)
    await watched.page.press('#go-to', 'Tab')
    await watched.page.click(`button:has-text("${label}")`)
    await watched.page.waitForSelector(`[data-verdict="${verdict}"]`)
    await watched.close()
  })

  it('vouches for no paper of another sovereign, opened from the table', async () => {
    const watched = await open()
    await watched.page.click('a[href="/recognition-treaties/foreign-1"]')
    await watched.page.waitForSelector('[data-verdict="not verified here"]')
    await watched.close()
  })

  it('can be moved and zoomed by keyboard', async () => {
    const watched = await open()
    const picture = (): Promise<string> => watched.page.evaluate("document.querySelector('canvas').toDataURL()")
    await watched.page.focus('canvas')
    const seen = [await picture()]
    for (const key of ['ArrowLeft', '+', '0']) {
      await watched.page.keyboard.press(key)
      await watched.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      seen.push(await picture())
    }
    expect(new Set(seen.slice(0, 3)).size).toBe(3)
    expect(seen[3]).toBe(seen[0])
    await watched.close()
  })
})

describe('the atlas', () => {
  it('exports its map as a file that stands alone', async () => {
    const watched = await openPage(browser, na.url)
    await visit(watched, `${na.url}/atlas`)
    const [download] = await Promise.all([
      watched.page.waitForEvent('download'),
      watched.page.click('text=Export as SVG'),
    ])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    expect(download.suggestedFilename()).toBe('atlas.svg')
    expect(text).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
    expect(text).toContain('GLACIER')
    expect(text).not.toContain('class=')
    expect(watched.trouble).toEqual([])
    await watched.close()
  })
})

describe('the API reference', () => {
  it('lets a reader try reads and verify routes, and nothing else', async () => {
    const watched = await openPage(browser, na.url)
    const { page } = watched
    await visit(watched, `${na.url}/api-reference`)
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
    // A refused trial is logged by the browser itself; nothing else may be.
    expect(watched.trouble.filter((text) => !text.includes('status of 4'))).toEqual([])
    await watched.close()
  })
})
