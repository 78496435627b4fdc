import type { Page } from 'playwright-core'

/** Unlocks the console at the address that is open. */
export async function signIn(page: Page, keyFile: string): Promise<void> {
  await page.setInputFiles('#key-file', keyFile)
}
