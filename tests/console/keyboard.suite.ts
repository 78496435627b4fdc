import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, visit } from './browser.ts'
import { signIn } from './operator-page.ts'
import type { ConsoleSetup } from './console-setup.ts'

const MAX_TABS = 120

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const place = page.locator(`${selector}:focus`)
  for (let i = 0; i < MAX_TABS; i += 1) {
    if ((await place.count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${selector} was not reached with ${MAX_TABS} tabs`)
}

/** The main tasks without a mouse. Only the file dialog belongs to the browser. */
export function describeKeyboard(setup: () => ConsoleSetup): void {
  describe('with the keyboard only', () => {
    it('a reader opens the content, a menu entry, a treaty and the impact of ending it', async () => {
      const { browser, demo } = setup()
      const checkedPage = await openPage(browser, demo.url)
      const { page } = checkedPage
      await visit(checkedPage, demo.url)
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
      await page.keyboard.press('Enter')
      expect(await page.evaluate('document.activeElement.id')).toBe('content')
      await visit(checkedPage, demo.url)
      await tabTo(page, '.top a[href="/connectome"]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('canvas')
      await tabTo(page, '#go-to')
      await page.keyboard.type('DEMO-HARBOUR')
      await page.keyboard.press('Tab')
      await page.waitForSelector('button:has-text("recognises FJORD-BANK")')
      await tabTo(page, 'button:has-text("recognises FJORD-BANK")')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[data-verdict="verified"]')
      await tabTo(page, 'button:has-text("Show the impact of ending this treaty")')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[data-drawn-cut="1"]')
      expect(checkedPage.trouble).toEqual([])
      await checkedPage.close()
    })

    it('an operator invites a node and ends a treaty', async () => {
      const { browser, demo, operator } = setup()
      const checkedPage = await openPage(browser, demo.url)
      const { page } = checkedPage
      await visit(checkedPage, `${demo.url}/operator/nodes`)
      await signIn(page, demo.keyFile)
      await page.waitForSelector('tbody .name')
      await tabTo(page, '.bar .btn.primary')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[data-effects=ready]')
      await tabTo(page, '[data-sign]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[data-token]')
      // The first press warns that the token was not saved.
      for (let press = 0; press < 2; press += 1) {
        await tabTo(page, '[data-drawer=invited] .btn.primary')
        await page.keyboard.press('Enter')
      }
      await page.waitForSelector('[data-drawer=invited]', { state: 'detached' })
      await page.keyboard.press('Control+k')
      await page.waitForSelector('.palette input:focus')
      await page.keyboard.type('end the treaty with OSPREY')
      await page.waitForSelector('.palette [role=option]:has-text("OSPREY-GRID")')
      await page.keyboard.press('Enter')

      const treaties = (await operator.recognitionTreaties.list({ subject_sovereign_id: 'OSPREY-GRID' }))
        .recognition_treaties
      const id = treaties[0]?.treaty.treaty_id ?? ''
      await page.waitForSelector('[data-drawer=end] [data-effects=ready]')
      await tabTo(page, '#typed-confirmation')
      await page.keyboard.type('OSPREY-GRID')
      await tabTo(page, '[data-sign][aria-disabled=false]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('.toast:has-text("The treaty with OSPREY-GRID has ended.")')
      expect(await operator.recognitionTreaties.find(id)).toMatchObject({ status: 'revoked' })
      await checkedPage.close()
    })
  })
}
