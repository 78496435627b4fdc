import { send } from '@chancery/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { type CheckedPage, openPage, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { useSetup } from './console-setup.ts'
import { signIn } from './operator-page.ts'

/** Holds: histories of resources and vendors are verified in the browser, and refused records are listed. */
const setup = useSetup(4)
const opened: CheckedPage[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

async function open(path: string): Promise<CheckedPage> {
  const { browser, demo } = setup()
  const checkedPage = await openPage(browser, demo.url, { reducedMotion: 'reduce' })
  opened.push(checkedPage)
  await visit(checkedPage, demo.url + path)
  await signIn(checkedPage.page, demo.keyFile)
  return checkedPage
}

describe('evidence', () => {
  it('has the history of a resource and of a vendor, each verified in this browser', async () => {
    const { page, trouble } = await open('/operator/evidence?resource_id=invoice%2F2')
    await page.click('tbody tr a:has-text("invoice/2")')
    await page.waitForURL('**/operator/resources/invoice%2F2')
    await page.waitForSelector('[data-verified-here="done"] >> text=verified in this browser')
    await page.waitForSelector('dd:has-text("3 entries verified")')
    await checkScreens(page, 'resource')
    await page.click('tbody tr a[href^="/operator/vendors/"]')
    await page.waitForSelector('h2:has-text("History of the vendor")')
    await page.waitForSelector('[data-verified-here="done"] >> text=verified in this browser')
    expect(trouble).toEqual([])
    await page.route('**/admin/evidence/vendors/*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace('pay.invoice', 'pay.invoicE') })
    })
    await page.keyboard.press('R')
    await page.waitForSelector('[data-verified-here="done"] >> text=was changed after it was stored')
  })

  it('shows no row and no verification of a response that hides its entries from the check', async () => {
    const { page } = await open('/operator/resources/invoice%2F2')
    await page.waitForSelector('[data-verified-here="done"] >> text=verified in this browser')
    await page.route(/[/]admin[/]evidence[/]resources[/]/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace('"entries":[', '"entries": [') })
    })
    await page.keyboard.press('R')
    await page.waitForSelector('[data-verified-here="done"]:not(:has-text("verified in this browser"))')
    expect(await page.locator('tbody tr').count()).toBe(0)
  })

  it('shows a long history in pages, and reads it again only when its reader asks for newer entries', async () => {
    const { page, trouble } = await open('/operator/evidence')
    await page.waitForSelector('tbody tr')
    let reads = 0
    await page.route(/[/]admin[/]evidence[/]resources[/]/, async (route) => {
      reads += 1
      const response = await route.fetch()
      const text = await response.text()
      const line = JSON.stringify((JSON.parse(text) as { entries: unknown[] }).entries.at(-1))
      await route.fulfill({ response, body: text.replace('"entries":[', `"entries":[${`${line},`.repeat(60)}`) })
    })
    let isNewer = false
    await page.route(/[/]admin[/]evidence[?].*limit=1(?:&|$)/, async (route) => {
      const response = await route.fetch()
      const text = await response.text()
      const body = isNewer ? text.replace(/"store_sequence":[0-9]+/, '"store_sequence":999999') : text
      await route.fulfill({ response, body })
    })
    const show = `history.pushState({}, '', '/operator/resources/invoice%2F2'); dispatchEvent(new PopStateEvent('popstate'))`
    await page.evaluate(show)
    await page.waitForSelector('.pager:has-text("1 to 25 of 63")')
    expect(await page.locator('tbody tr').count()).toBe(25)
    await page.click('.pager button:has-text("Next")')
    await page.waitForSelector('.pager:has-text("26 to 50 of 63")')
    await checkScreens(page, 'resource-pages')
    isNewer = true
    const { operator } = setup()
    await operator.evidence.anchor()
    await page.waitForSelector('[data-newer]:has-text("Show newer entries")', { timeout: 90_000 })
    expect(reads).toBe(1)
    await page.click('[data-newer]')
    await expect.poll(() => reads, { timeout: 30_000 }).toBe(2)
    // The newest entry is a refused record, which no history has. It is offered once.
    await page.waitForSelector('[data-newer]', { state: 'detached' })
    // A handler that still reads its response when the page closes would fail the run.
    await page.unrouteAll({ behavior: 'wait' })
    expect(trouble).toEqual([])
  })

  it('states that a history which is too long has the oldest entries', async () => {
    const { page } = await open('/operator/evidence')
    await page.route(/[/]admin[/]evidence[/]resources[/]/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace('"truncated":false', '"truncated":true') })
    })
    const show = `history.pushState({}, '', '/operator/resources/invoice%2F2'); dispatchEvent(new PopStateEvent('popstate'))`
    await page.evaluate(show)
    await page.waitForSelector('.pager:has-text("the oldest entries of the history, the latest of them first")')
    await page.click('dd a:has-text("Show the newest entries")')
    await page.waitForURL('**/operator/evidence?resource_id=invoice%2F2')
  })

  it('lists refused records with the claimed names, and without the record', async () => {
    const { page, trouble } = await open('/operator/evidence?view=refused')
    await page.waitForSelector('text=No record was refused')
    const evidence = { evidence_id: 'claimed-1', resource_id: 'invoice/9', note: 'private' }
    expect((await send(setup().demo.url, 'POST', '/evidence/execution', { body: { evidence } })).status).toBe(422)
    await page.waitForSelector('tbody tr:has-text("evidence_malformed")', { timeout: 30_000 })
    await page.waitForSelector('.tabs a[aria-current]:has-text("Refused records")')
    expect(await page.textContent('main')).not.toContain('private')
    await checkScreens(page, 'evidence-refused')
    expect(trouble).toEqual([])
  })
})
