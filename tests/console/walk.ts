import type { Browser, Page } from 'playwright-core'
import { type CheckedPage, openPage, visit } from './browser.ts'
import { signIn } from './operator-page.ts'

/** The most clicks of a journey after sign-in. */
const MAX_CLICKS = 8

export const SCREENS = {
  light: { viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
} as const
export type Screen = keyof typeof SCREENS

/** What a journey took. */
export interface Walked {
  readonly name: string
  readonly screen: Screen
  readonly clicks: number
  readonly seconds: number
}

/**
 * An operator at the console, from the overview on. Presses are counted; typed text is not. There is no method that
 * opens an address, and a load of another document is reported in `trouble`.
 */
export class Walk {
  readonly page: Page
  readonly trouble: readonly string[]
  readonly #screen: Screen
  readonly #checkedPage: CheckedPage
  readonly #startedAt = performance.now()
  #clicks = 0

  private constructor(checkedPage: CheckedPage, screen: Screen) {
    this.#checkedPage = checkedPage
    this.#screen = screen
    this.page = checkedPage.page
    this.trouble = checkedPage.trouble
    this.page.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().startsWith('http'))
        checkedPage.trouble.push(`loads ${request.url()}`)
    })
  }

  /** Opens the overview and signs in. */
  static async start(browser: Browser, url: string, keyFile: string, screen: Screen): Promise<Walk> {
    const checkedPage = await openPage(browser, url, { ...SCREENS[screen], reducedMotion: 'reduce' })
    await visit(checkedPage, `${url}/operator`)
    await signIn(checkedPage.page, keyFile)
    await checkedPage.page.waitForSelector('.keychip', { state: 'attached' })
    return new Walk(checkedPage, screen)
  }

  async click(selector: string): Promise<void> {
    this.#clicks += 1
    await this.page.click(selector)
  }

  async sees(selector: string): Promise<void> {
    await this.page.waitForSelector(selector)
  }

  /** Opens a page from the navigation. On a phone, pages outside the bar are listed under More. */
  async open(path: string): Promise<void> {
    const entry = `a[href="${path}"]`
    if (this.#screen !== 'phone') return this.click(`.side .nav ${entry}`)
    if ((await this.page.locator(`.phonebar ${entry}`).count()) > 0) return this.click(`.phonebar ${entry}`)
    await this.click('.phonebar >> text=More')
    return this.click(`.panel ${entry}.linked`)
  }

  /** Fills a field. A field without the focus needs a click first, which counts. */
  async type(selector: string, text: string): Promise<void> {
    await this.sees(selector)
    if ((await this.page.locator(`${selector}:focus`).count()) === 0) await this.click(selector)
    await this.page.fill(selector, text)
  }

  /** Presses the gold button when it can sign. */
  async sign(): Promise<void> {
    await this.sees('[data-sign][aria-disabled=false]')
    await this.click('[data-sign]')
  }

  /** Presses a button that saves a file, and returns the path of the file. */
  async save(selector: string): Promise<string> {
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.click(selector)])
    return download.path()
  }

  end(name: string): Walked {
    const seconds = (performance.now() - this.#startedAt) / 1000
    return { name, screen: this.#screen, clicks: this.#clicks, seconds }
  }

  close(): Promise<void> {
    return this.#checkedPage.close()
  }
}

/** Returns the journeys with too many clicks. */
export function tooLong(walked: readonly Walked[]): readonly string[] {
  return walked
    .filter(({ clicks }) => clicks > MAX_CLICKS)
    .map(({ name, screen, clicks }) => `${name}, ${screen}: ${clicks} clicks, at most ${MAX_CLICKS}`)
}

/** One line for each journey. */
export function walkedTable(walked: readonly Walked[]): string {
  const width = Math.max(...walked.map(({ name }) => name.length))
  const lines = walked.map(({ name, screen, clicks, seconds }) =>
    [name.padEnd(width), screen.padEnd(6), String(clicks).padStart(6), seconds.toFixed(1).padStart(7)].join('  '),
  )
  return [['journey'.padEnd(width), 'screen', 'clicks', 'seconds'].join('  '), ...lines, ''].join('\n')
}
