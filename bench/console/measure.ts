import type { Browser, Page } from 'playwright-core'
import { openPage, visit } from '../../tests/console/browser.ts'
import { round } from '../lib/statistics.ts'

/** A small laptop and a phone. */
const SCREENS = { laptop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const
const ROW = 'tbody tr'
const LISTS = ['nodes', 'agents', 'partners', 'policies', 'decisions', 'evidence', 'audit'] as const
/** What shows that a page without a list is complete. */
const OTHERS = { overview: '.needs, .vitals', keys: '.panel', help: '.panel, table', start: '.steps, ol' } as const
const PUBLIC = ['/', '/connectome', '/atlas'] as const

interface PageFigures {
  /** First contentful paint. */
  readonly paint_ms: number
  /** From the sign-in to the first row. */
  readonly rows_ms?: number
  readonly screens: number
  readonly phone_screens: number
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
  /** Pages that need no key. Their script has the map and the reference, and no limit here. */
  readonly public_pages: Readonly<Record<string, PageFigures>>
  readonly interactions: Readonly<Record<string, InteractionFigures>>
}

/** Resolves when no script was loaded for half a second. The stream of changes keeps a request open, so idle never comes. */
const LOADED =
  "new Promise((done) => { let timer = setTimeout(done, 500); new PerformanceObserver(() => { clearTimeout(timer); timer = setTimeout(done, 500) }).observe({ type: 'resource' }) })"

/** Clicks, touches and keys, as Interaction to Next Paint counts them: a pointer over a row that appears is none. */
const EVENTS =
  "window.inputs = []; new PerformanceObserver((list) => { for (const { duration, interactionId } of list.getEntries()) if (interactionId > 0) window.inputs.push(duration) }).observe({ type: 'event', durationThreshold: 16 })"

export async function measureConsole(browser: Browser, url: string, keyFile: string): Promise<Figures> {
  const pages: Record<string, PageFigures> = {}
  const measure = (path: string, shown: string): Promise<PageFigures> =>
    measureScreens(browser, { address: url + path, shown, keyFile })
  for (const list of LISTS) pages[list] = await measure(`/operator/${list}`, ROW)
  for (const [name, shown] of Object.entries(OTHERS))
    pages[name] = await measure(name === 'overview' ? '/operator' : `/operator/${name}`, `main :is(${shown})`)
  const public_pages: Record<string, PageFigures> = {}
  for (const path of PUBLIC) public_pages[path] = await measureScreens(browser, { address: url + path, shown: 'main' })
  return { pages, public_pages, interactions: await measureInteractions(browser, url, keyFile) }
}

interface MeasuredPage {
  readonly address: string
  readonly shown: string
  /** Left out for a page that needs no key. */
  readonly keyFile?: string
}

async function measureScreens(browser: Browser, target: MeasuredPage): Promise<PageFigures> {
  const { screens: phone_screens } = await measurePage(browser, target, SCREENS.phone)
  return { ...(await measurePage(browser, target, SCREENS.laptop)), phone_screens }
}

async function measurePage(
  browser: Browser,
  { address, shown, keyFile }: MeasuredPage,
  viewport: { readonly width: number; readonly height: number },
): Promise<Omit<PageFigures, 'phone_screens'>> {
  const checkedPage = await openPage(browser, new URL(address).origin, { viewport })
  const { page } = checkedPage
  await visit(checkedPage, address)
  const started = performance.now()
  if (keyFile !== undefined) await page.setInputFiles('#key-file', keyFile)
  await page.waitForSelector(shown, { timeout: 15_000 }).catch(async () => {
    throw new Error(`${address} is not complete: ${(await page.textContent('body'))?.slice(0, 400) ?? ''}`)
  })
  const rows_ms = round(performance.now() - started, 0)
  // What a page loads after its rows belongs to it, too.
  await page.evaluate(LOADED)
  const { paint, height, bytes } = await page.evaluate<{
    readonly paint: number
    readonly height: number
    readonly bytes: number
  }>(`({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity,
    height: document.documentElement.scrollHeight,
    bytes: performance.getEntriesByType('resource').filter(({ name }) => /\\.(js|css)$/.test(name)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  })`)
  await checkedPage.close()
  const screens = round(height / viewport.height, 2)
  return { paint_ms: round(paint, 0), ...(keyFile === undefined ? {} : { rows_ms }), screens, bytes }
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
    () => page.locator('[data-search]').pressSequentially('quay 02'),
    `${ROW}:has-text("Quay 02")`,
  )
  await act('open_node', () => page.locator('tbody a.name').first().click(), 'main .hero')
  await open('/operator/agents')
  await act('next_agents', () => page.click('.pager >> text=Next'), '.pager >> text=Back')
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
