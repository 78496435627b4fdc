import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core'

const CHROMIUM = '/usr/bin/chromium'
/** Chromium uses the last list of features only, so the first part repeats that of Playwright. */
const DISABLED_FEATURES = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
  // Each window loads the pages of its address bar: over one second of processor time for every context.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  // A second process for each page, which no test uses.
  'SpareRendererForSitePerProcess',
]
const ARGS = [
  `--disable-features=${DISABLED_FEATURES.join(',')}`,
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const OUTPUT = join(import.meta.dirname, '..', '..', 'test-output', 'console')
/** Pictures for people (docs/project/tests.md). No test reads them, and drawing whole pages takes seconds. */
const HAS_SCREENSHOTS = process.env['CHANCERY_SCREENSHOTS'] === 'on'

let shared: Promise<Browser> | undefined

/** The browser of this worker, for all its test files. It ends with the worker. */
export function sharedBrowser(): Promise<Browser> {
  return (shared ??= openBrowser())
}

/** Closes what a test file left open in the shared browser. */
export async function closePages(browser: Browser): Promise<void> {
  for (const context of browser.contexts()) await context.close()
}

export function openBrowser(): Promise<Browser> {
  // Fails instead of skipping: a check that could not run has failed.
  if (!existsSync(CHROMIUM))
    throw new Error(`${CHROMIUM} is missing: apt-get install -y --no-install-recommends chromium`)
  return chromium.launch({ executablePath: CHROMIUM, args: ARGS })
}

/** What the content policy or Trusted Types refused, for each page. */
const refusals = new WeakMap<Page, string[]>()

export const policyReports = (page: Page): readonly string[] => refusals.get(page) ?? []

export interface CheckedPage {
  readonly page: Page
  /** Errors, warnings of the content policy, dialogs, requests to other origins. */
  readonly trouble: string[]
  close(): Promise<void>
}

/** A page whose problems are recorded. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<CheckedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  const page = await context.newPage()
  const trouble: string[] = []
  page.on('pageerror', (error) => trouble.push(`error: ${error.message}`))
  const refused: string[] = []
  refusals.set(page, refused)
  page.on('console', (message) => {
    const text = message.text()
    const isRefusal = /Content Security Policy|Trusted(?:HTML|Script|ScriptURL|Type)/.test(text)
    if (isRefusal) refused.push(text)
    if (isRefusal || message.type() === 'error') trouble.push(`console: ${text}`)
  })
  page.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('blob:')) trouble.push(`request: ${request.url()}`)
  })
  return { page, trouble, close: () => context.close() }
}

/** Opens a page and waits until its script has run. */
export async function visit({ page }: CheckedPage, address: string, timeoutMs = 30_000): Promise<void> {
  await page.goto(address, { timeout: timeoutMs })
  // Waits for a selector, because the content policy forbids evaluating an expression in the page.
  await page.waitForSelector('body[data-enriched]', { state: 'attached', timeout: timeoutMs })
}

export async function screenshot(page: Page, name: string): Promise<void> {
  if (!HAS_SCREENSHOTS) return
  mkdirSync(OUTPUT, { recursive: true })
  await page.screenshot({ path: join(OUTPUT, `${name}.png`), fullPage: true })
}

/** Saves a screenshot of a part of a long page. */
export async function screenshotOf(page: Page, selector: string, name: string): Promise<void> {
  if (!HAS_SCREENSHOTS) return
  mkdirSync(OUTPUT, { recursive: true })
  await page
    .locator(selector)
    .first()
    .screenshot({ path: join(OUTPUT, `${name}.png`) })
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string }[]
}

/** Set at night: every screen and every part of a page is checked. */
export const HAS_ALL_SCREENS = process.env['CHANCERY_ALL_SCREENS'] === 'on'

/** Findings depend on the width or on the colours, so two of the four screens run before a merge, and all at night. */
export function isChosenScreen(width: number, colorScheme: 'light' | 'dark'): boolean {
  return HAS_ALL_SCREENS || (width === 1440) === (colorScheme === 'light')
}

/** The part of the page to check, and parts to omit before a merge because they repeat checked ones. */
export interface AxeScope {
  readonly within?: string
  readonly without?: string
  /** Set when the same page was checked in other colours. */
  readonly onlyColours?: boolean
}

/** Waits until the page was drawn with its last change: the second frame begins after the first one was laid out. */
export async function nextFrames(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

/** Waits for transitions: after a change of the colour scheme, a contrast is measured between two colours. */
async function waitForAnimations(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    const isFinite = ({ effect, playState }) =>
      playState === 'running' && Number.isFinite(effect?.getComputedTiming().endTime)
    for (;;) {
      const running = document.getAnimations().filter(isFinite)
      if (running.length === 0) return
      await Promise.allSettled(running.map(({ finished }) => finished))
    }
  })()`)
}

/**
 * Returns findings of any impact, each with its first element. Runs in the driver, so the content policy stays active.
 * Of the other results axe lists one element each, which takes less time.
 */
export async function axeFindings(
  page: Page,
  { within = 'html', without, onlyColours = false }: AxeScope = {},
): Promise<readonly string[]> {
  await waitForAnimations(page)
  // It stays in its document until a navigation.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(AXE)
  const rules = onlyColours ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {}
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules })
  const omitted = without === undefined || HAS_ALL_SCREENS ? [] : [without]
  // Parts to omit leave the document meanwhile: axe also measures what it excludes.
  const { violations, passes } = await page.evaluate<{
    violations: readonly Finding[]
    passes: readonly unknown[]
  }>(`(async () => {
    const places = ${JSON.stringify(omitted)}.flatMap((selector) => [...document.querySelectorAll(selector)]).map((part) => {
      const place = document.createComment('')
      part.replaceWith(place)
      return { place, part }
    })
    try {
      return await axe.run({ include: [[${JSON.stringify(within)}]] }, ${options})
    } finally {
      for (const { place, part } of places) place.replaceWith(part)
    }
  })()`)
  if (passes.length === 0) throw new Error('axe checked nothing')
  return violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes[0]?.html.slice(0, 200) ?? ''}`)
}
