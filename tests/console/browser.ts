import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

const CHROMIUM = '/usr/bin/chromium'
const ARGS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const OUTPUT = join(import.meta.dirname, '..', '..', 'test-output', 'console')
/** Pictures for people (CONTRIBUTING.md). No test reads them, and drawing whole pages takes seconds. */
const HAS_SCREENSHOTS = process.env['CHANCERY_SCREENSHOTS'] === 'on'

export function openBrowser(): Promise<Browser> {
  // Fails instead of skipping: a check that could not run has failed.
  if (!existsSync(CHROMIUM))
    throw new Error(`${CHROMIUM} is missing: apt-get install -y --no-install-recommends chromium`)
  return chromium.launch({ executablePath: CHROMIUM, args: ARGS })
}

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
  page.on('console', (message) => {
    if (message.type() === 'error' || message.text().includes('Content Security Policy'))
      trouble.push(`console: ${message.text()}`)
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

/** axe results depend on the width or on the colours, so two of the four screens run before a merge, and all at night. */
export function isAxeScreen(width: number, colorScheme: 'light' | 'dark'): boolean {
  return process.env['CHANCERY_ALL_SCREENS'] === 'on' || (width === 1440) === (colorScheme === 'light')
}

/** The part of the page to check, and parts to omit because they repeat checked ones. */
export interface AxeScope {
  readonly within?: string
  readonly without?: string
}

/**
 * Returns serious and critical findings, each with its first element. Runs in the driver, so the content policy stays
 * active.
 */
export async function axeFindings(page: Page, { within = 'html', without }: AxeScope = {}): Promise<readonly string[]> {
  await page.evaluate(AXE)
  const scope = { include: [[within]], ...(without === undefined ? {} : { exclude: [[without]] }) }
  const { violations, passes } = await page.evaluate<{
    violations: readonly Finding[]
    passes: readonly unknown[]
  }>(`axe.run(${JSON.stringify(scope)})`)
  if (passes.length === 0) throw new Error('axe checked nothing')
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200) ?? ''}`)
}
