import type { JsonObject } from '@chancery/protocol'
import type { Browser, Page } from 'playwright-core'
import { openPage, visit } from './browser.ts'
import type { CheckedPage } from './browser.ts'

/** Drives the operator page like its user. */
export interface OperatorPageHandle extends CheckedPage {
  /** Opens a card, fills its fields and opens the review. */
  write(id: string, values: Readonly<Record<string, string>>): Promise<void>
  /** Opens the review again. */
  review(id: string): Promise<void>
  /** Confirms where required, signs, and returns the response of the authority. */
  send(id: string): Promise<JsonObject>
}

export const card = (id: string): string => `[data-action="${id}"]`

export async function signIn(page: Page, keyFile: string): Promise<void> {
  await page.setInputFiles('#key-file', keyFile)
}

export async function openOperatorPage(browser: Browser, url: string, keyFile: string): Promise<OperatorPageHandle> {
  const checkedPage = await openPage(browser, url)
  const { page } = checkedPage
  await visit(checkedPage, `${url}/operator/all-actions`)
  await signIn(page, keyFile)
  await page.waitForSelector('.action')
  const review = async (id: string): Promise<void> => {
    await page.click(`${card(id)} form > button`)
    await page.waitForSelector(`${card(id)} .review, ${card(id)} [role=alert]`)
  }
  return {
    ...checkedPage,
    review,
    async write(id, values) {
      if (!(await page.locator(`${card(id)}[open]`).count())) await page.click(`${card(id)} > summary`)
      for (const [name, value] of Object.entries(values)) {
        const field = page.locator(`#${id}-${name}`)
        if ((await field.evaluate('(element) => element.tagName')) === 'SELECT') await field.selectOption(value)
        else await field.fill(value)
      }
      await review(id)
    },
    async send(id) {
      const sure = page.locator(`${card(id)} input[type=checkbox]`)
      if ((await sure.count()) > 0) await sure.check()
      await page.click(`${card(id)} >> text=Sign and send`)
      await page.waitForSelector(`${card(id)} [data-done], ${card(id)} [role=alert]`)
      return JSON.parse((await page.textContent(`${card(id)} [data-done] pre`)) ?? '') as JsonObject
    },
  }
}
