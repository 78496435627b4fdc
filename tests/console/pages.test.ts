import type { TestAuthority } from '@chancery/testkit'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeFindings, openBrowser, openPage, screenshot, visit } from './browser.ts'
import { NETWORK, issueTreaty, startNetwork } from './network.ts'

const PAGES = ['/', '/connectome', '/atlas', '/api-reference', '/cli-reference', '/operator'] as const
let na: TestAuthority
let browser: Browser
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startNetwork(), openBrowser()])
})
afterAll(async () => {
  await browser.close()
  await na.stop()
})

describe.each([
  [1440, 'light'],
  [1440, 'dark'],
  [360, 'light'],
  [360, 'dark'],
] as const)('at %i px, %s', (width, colorScheme) => {
  it.each(PAGES)('%s behaves, fits and can be used by everybody', async (path) => {
    const watched = await openPage(browser, na.url, {
      viewport: { width, height: 900 },
      colorScheme,
      reducedMotion: 'reduce',
    })
    await visit(watched, na.url + path)
    await screenshot(watched.page, `${path === '/' ? 'overview' : path.slice(1)}-${width}-${colorScheme}`)
    expect(await watched.page.evaluate('document.body.dataset.enriched')).toBe('done')
    expect(await watched.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    expect(await axeFindings(watched.page)).toEqual([])
    expect(watched.trouble).toEqual([])
    await watched.close()
  })
})

describe('without script', () => {
  it.each([
    ['/', ['things to look at', 'ending-1', 'BOREALIS', 'Active nodes']],
    ['/connectome', ['foreign-2', 'borealis-member-7', 'Revocation blast radius']],
    [`/connectome?from=${NETWORK}&to=GLACIER`, ['Treaties in force lead there', 'foreign-1', 'foreign-2']],
    ['/atlas', ['GLACIER', 'Graph digest']],
    ['/api-reference', ['/admin/revoke', '/healthz']],
    ['/cli-reference', ['chancery treaty issue']],
    ['/operator', ['chancery revoke']],
  ] as const)('%s shows its facts', async (path, facts) => {
    const watched = await openPage(browser, na.url, { javaScriptEnabled: false })
    await watched.page.goto(na.url + path)
    const text = (await watched.page.textContent('main')) ?? ''
    for (const fact of facts) expect(text).toContain(fact)
    await watched.close()
  })
})

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

  it.each([
    ['a paper of this authority', 'recognises MERIDIAN', 'verified'],
    ['a forged paper', 'recognises BOREALIS', 'does not hold'],
    ['a paper whose time is over', 'recognises DELTA', 'does not hold'],
  ])('judges %s in the browser', async (_what, label, verdict) => {
    const watched = await open()
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

describe('by keyboard alone', () => {
  it('one reaches the content, a menu entry and a paper', async () => {
    const watched = await openPage(browser, na.url)
    const { page } = watched
    await visit(watched, na.url)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('content')
    await page.focus('.menu a[href="/connectome"]')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/connectome')
    await page.waitForSelector('canvas')
    await page.focus('a[href="/recognition-treaties/foreign-2"]')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[data-verdict]')
    await watched.close()
  })
})
