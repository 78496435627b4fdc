import type { Page } from 'playwright-core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CheckedPage, openPage, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { useSetup } from './console-setup.ts'
import { signIn } from './operator-page.ts'

/** Holds: the page of a node and of a decision leads to the next row of the list that the reader came from. */
const setup = useSetup(30)
let checkedPage: CheckedPage
let page: Page

const PREVIOUS = 'button[aria-label^="Previous "]'
const NEXT = 'button[aria-label^="Next "]'
const path = (): string => new URL(page.url()).pathname
const hrefs = async (): Promise<readonly string[]> => {
  await page.waitForSelector('tbody a.name')
  return page.evaluate<string[]>(`[...document.querySelectorAll('tbody a.name')].map((a) => a.getAttribute('href'))`)
}
const at = async (href: string | undefined): Promise<void> => {
  await expect.poll(path, { timeout: 30_000 }).toBe(href)
  await page.waitForSelector('.hero')
}
const open = async (address: string): Promise<void> => {
  await visit(checkedPage, setup().demo.url + address)
  await signIn(page, setup().demo.keyFile)
}

beforeEach(async () => {
  const { browser, demo } = setup()
  checkedPage = await openPage(browser, demo.url)
  page = checkedPage.page
})
afterEach(() => checkedPage.close())

it('goes through the nodes of a filtered list, over its pages, and back to the list with its filters', async () => {
  await open('/operator/nodes?state=active')
  const rows = await hrefs()
  expect(rows).toHaveLength(25)
  await page.click(`tbody a.name[href="${rows[0]}"]`)
  await at(rows[0])
  expect(await page.getAttribute(PREVIOUS, 'aria-disabled')).toBe('true')
  await checkScreens(page, 'node-arrows')
  await page.keyboard.press('j')
  await at(rows[1])
  await page.keyboard.press('k')
  await at(rows[0])
  await page.click(NEXT)
  await at(rows[1])
  await page.goBack()
  await page.waitForSelector('tbody a.name')
  expect(page.url()).toContain('/operator/nodes?state=active')
  await page.click(`tbody a.name[href="${rows[24]}"]`)
  await at(rows[24])
  await page.keyboard.press('j')
  await expect.poll(() => rows.includes(path()), { timeout: 30_000 }).toBe(false)
  await page.waitForSelector('.hero')
  expect(path()).toMatch(/^\/operator\/nodes\/./)
  await page.keyboard.press('k')
  await at(rows[24])
  expect(await page.getAttribute('.crumbs a', 'href')).toBe('/operator/nodes?state=active')
  await page.keyboard.press('Escape')
  await page.waitForSelector('tbody a.name')
  expect(page.url()).toContain('/operator/nodes?state=active')
  expect(checkedPage.trouble).toEqual([])
})

it('goes through the decisions of a filtered list', async () => {
  await open('/operator/decisions?outcome=denied')
  const rows = await hrefs()
  expect(rows.length).toBeGreaterThan(1)
  await page.click(`tbody a.name[href="${rows[0]}"]`)
  await at(rows[0])
  await page.keyboard.press('j')
  await at(rows[1])
  expect(await page.textContent('.hero')).toContain('Denied')
  await page.click(PREVIOUS)
  await at(rows[0])
  await checkScreens(page, 'decision-arrows')
  expect(checkedPage.trouble).toEqual([])
})

it('has no arrows for a reader who came another way', async () => {
  await open('/operator/nodes')
  const [first = ''] = await hrefs()
  await page.click('.nav a:has-text("Help")')
  await page.waitForSelector('h1:has-text("Help")')
  const show = `history.pushState({}, '', '${first}'); dispatchEvent(new PopStateEvent('popstate'))`
  await page.evaluate(show)
  await page.waitForSelector('.hero')
  expect(await page.locator(NEXT).count()).toBe(0)
  await page.keyboard.press('j')
  expect(path()).toBe(first)
})
