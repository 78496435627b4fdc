import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, visit } from './browser.ts'
import { card, signIn } from './desk.ts'
import type { Stage } from './stage.ts'

const MAX_TABS = 120

/** Presses Tab until the place has the focus, as somebody without a mouse does. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const place = page.locator(`${selector}:focus`)
  for (let i = 0; i < MAX_TABS; i += 1) {
    if ((await place.count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${selector} was not reached with ${MAX_TABS} tabs`)
}

/** The main tasks without a mouse; only the dialog that picks a file belongs to the browser. */
export function describeKeyboard(stage: () => Stage): void {
  describe('by keyboard alone', () => {
    it('one reaches the content, a menu entry, a paper, and what would end with it', async () => {
      const { browser, demo } = stage()
      const watched = await openPage(browser, demo.url)
      const { page } = watched
      await visit(watched, demo.url)
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
      await page.keyboard.press('Enter')
      expect(await page.evaluate('document.activeElement.id')).toBe('content')
      await visit(watched, demo.url)
      await tabTo(page, '.menu a[href="/connectome"]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('canvas')
      await tabTo(page, '#go-to')
      await page.keyboard.type('DEMO-HARBOUR')
      await page.keyboard.press('Tab')
      await page.waitForSelector('button:has-text("recognises FJORD-BANK")')
      await tabTo(page, 'button:has-text("recognises FJORD-BANK")')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[data-verdict="verified"]')
      await tabTo(page, 'button:has-text("Draw what would end with it")')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[data-drawn-cut="1"]')
      expect(watched.trouble).toEqual([])
      await watched.close()
    })

    it('one invites a node and ends a treaty', async () => {
      const { browser, demo, operator } = stage()
      const watched = await openPage(browser, demo.url)
      const { page } = watched
      await visit(watched, `${demo.url}/operator`)
      await signIn(page, demo.keyFile)
      await page.waitForSelector('.action')
      await tabTo(page, `${card('invite')} summary`)
      await page.keyboard.press('Enter')
      await tabTo(page, `${card('invite')} form > button`)
      await page.keyboard.press('Enter')
      await page.waitForSelector(`${card('invite')} .review`)
      await tabTo(page, `${card('invite')} .review button`)
      await page.keyboard.press('Enter')
      await page.waitForSelector(`${card('invite')} [data-done]`)

      const treaties = (await operator.recognitionTreaties.page({ subject_sovereign_id: 'OSPREY-GRID' }))
        .recognition_treaties
      const id = treaties[0]?.treaty.treaty_id ?? ''
      await tabTo(page, `${card('treaty-revoke')} summary`)
      await page.keyboard.press('Enter')
      await tabTo(page, '#treaty-revoke-treaty_id')
      await page.keyboard.type(id)
      await tabTo(page, `${card('treaty-revoke')} form > button`)
      await page.keyboard.press('Enter')
      await page.waitForSelector(`${card('treaty-revoke')} [data-ripple]`)
      await tabTo(page, `${card('treaty-revoke')} input[type=checkbox]`)
      await page.keyboard.press('Space')
      await tabTo(page, `${card('treaty-revoke')} button.danger`)
      await page.keyboard.press('Enter')
      await page.waitForSelector(`${card('treaty-revoke')} [data-done]`)
      expect(await operator.recognitionTreaties.find(id)).toMatchObject({ status: 'revoked' })
      await watched.close()
    })
  })
}
