import type { Browser, Page } from 'playwright-core'
import { openPage, visit } from '../../tests/console/browser.ts'
import { round } from '../lib/statistics.ts'

const HEIGHT = 900
const ROW = 'tbody tr'
/** Without agents: the filled ones have no descriptor, which their page shows. */
const LISTS = ['nodes', 'partners', 'policies', 'decisions', 'evidence', 'audit'] as const

interface PageFigures {
  /** First contentful paint. */
  readonly paint_ms: number
  /** From the sign-in to the first row, or to the text of an empty list. */
  readonly rows_ms: number
  readonly screens: number
  /** Scripts and styles as sent. */
  readonly bytes: number
}

interface InteractionFigures {
  /** From the input to the next paint, as Chromium reports it, in steps of 8 ms. 16 or less is shown as 16. */
  readonly input_ms: number
  readonly rows_ms: number
}

export interface Figures {
  readonly pages: Readonly<Record<string, PageFigures>>
  readonly interactions: Readonly<Record<string, InteractionFigures>>
  /** Scripts and styles of all lists, each once. */
  readonly all_bytes: number
}

const EVENTS =
  "window.inputs = []; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.inputs.push(duration) }).observe({ type: 'event', durationThreshold: 16 })"

export async function measureConsole(browser: Browser, url: string, keyFile: string): Promise<Figures> {
  const pages: Record<string, PageFigures> = {}
  const files = new Map<string, number>()
  for (const list of LISTS) pages[list] = await measurePage(browser, `${url}/operator/${list}`, keyFile, files)
  const interactions = await measureInteractions(browser, url, keyFile)
  return { pages, interactions, all_bytes: [...files.values()].reduce((sum, bytes) => sum + bytes, 0) }
}

async function measurePage(
  browser: Browser,
  address: string,
  keyFile: string,
  files: Map<string, number>,
): Promise<PageFigures> {
  const checkedPage = await openPage(browser, new URL(address).origin)
  const { page } = checkedPage
  await visit(checkedPage, address)
  const started = performance.now()
  await page.setInputFiles('#key-file', keyFile)
  await page.waitForSelector(`${ROW}, .blank`, { timeout: 15_000 }).catch(async () => {
    throw new Error(`${address} shows no list: ${(await page.textContent('body'))?.slice(0, 400) ?? ''}`)
  })
  const rows_ms = round(performance.now() - started, 0)
  const { paint, height, loaded } = await page.evaluate<{
    readonly paint: number
    readonly height: number
    readonly loaded: readonly (readonly [string, number])[]
  }>(`({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity,
    height: document.documentElement.scrollHeight,
    loaded: performance.getEntriesByType('resource').filter(({ name }) => /\\.(js|css)$/.test(name)).map(({ name, encodedBodySize }) => [name, encodedBodySize]),
  })`)
  for (const [name, bytes] of loaded) files.set(name, bytes)
  await checkedPage.close()
  const bytes = loaded.reduce((sum, [, size]) => sum + size, 0)
  return { paint_ms: round(paint, 0), rows_ms, screens: round(height / HEIGHT, 2), bytes }
}

async function measureInteractions(
  browser: Browser,
  url: string,
  keyFile: string,
): Promise<Record<string, InteractionFigures>> {
  const checkedPage = await openPage(browser, url)
  const { page } = checkedPage
  await page.addInitScript(EVENTS)
  const figures: Record<string, InteractionFigures> = {}
  const open = async (path: string): Promise<void> => {
    await visit(checkedPage, url + path)
    await page.setInputFiles('#key-file', keyFile)
    await page.waitForSelector(ROW)
  }
  const act = async (name: string, press: () => Promise<void>, shown: string): Promise<void> => {
    figures[name] = await timed(page, press, shown)
  }
  await open('/operator/nodes')
  await act('filter_nodes', () => page.click('.tabs >> text=Silent'), `${ROW}:has-text("Silent")`)
  await act('next_nodes', () => page.click('.pager >> text=Next'), '.pager >> text=Back')
  await act(
    'search_nodes',
    () => page.locator('[data-search]').pressSequentially('dock 77'),
    `${ROW}:has-text("Dock 77")`,
  )
  await act('open_node', () => page.locator('tbody a.name').first().click(), 'main :is(.hero, .blank, [role=alert])')
  await open('/operator/decisions')
  await act('next_decisions', () => page.click('.pager >> text=Next'), '.pager >> text=Back')
  await act('open_decision', () => page.locator('tbody a.name').first().click(), '.steps')
  await checkedPage.close()
  return figures
}

async function timed(page: Page, press: () => Promise<void>, shown: string): Promise<InteractionFigures> {
  await page.evaluate('window.inputs.length = 0')
  const started = performance.now()
  await press()
  await page.waitForSelector(shown)
  const rows_ms = round(performance.now() - started, 0)
  const input_ms = await page.evaluate<number>(
    'new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(Math.max(16, ...window.inputs)), 100)))',
  )
  return { input_ms, rows_ms }
}
