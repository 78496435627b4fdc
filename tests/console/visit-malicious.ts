import { openPage, visit } from './browser.ts'
import type { CheckedPage } from './browser.ts'
import type { FrameSetup } from './frame-setup.ts'
import { fillMalicious } from './fill-malicious.ts'
import { layoutFindings } from './layout-findings.ts'
import { maliciousText } from './malicious-texts.ts'
import { signIn } from './operator-page.ts'
import { seededRandom } from '../campaigns/lib/random.ts'

/** A page of a list shows this many rows at most. */
const AT_ONCE = 50
const LISTS = [
  '/operator',
  '/operator/nodes',
  '/operator/nodes?tab=invites',
  '/operator/agents',
  '/operator/partners',
  '/operator/partners?tab=treaties',
  '/operator/partners?tab=members',
  '/operator/policies',
  '/operator/decisions',
  '/operator/evidence',
  '/operator/audit',
  '/',
  '/connectome',
  '/atlas',
] as const
const REPORTS =
  "window.reports = []; document.addEventListener('securitypolicyviolation', (event) => window.reports.push(event.violatedDirective))"

export interface Visited {
  readonly problems: readonly string[]
  /** How many texts each field stored, 0 included. */
  readonly stored: Readonly<Record<string, number>>
}

/** Fields that stored no text: the pages then showed none of it. */
export const emptyFields = (stored: Visited['stored']): readonly string[] =>
  Object.keys(stored).filter((field) => stored[field] === 0)

type Setup = Pick<FrameSetup, 'na' | 'browser' | 'keyFile'>

/** Fills every field with generated texts, 50 at a time, and opens every list and one page of each kind after each time. */
export async function visitMalicious(setup: Setup, count: number, seed: number): Promise<Visited> {
  const random = seededRandom(seed)
  const problems: string[] = []
  const stored: Record<string, number> = {}
  for (let at = 0; at < count; at += AT_ONCE) {
    const texts = Array.from({ length: Math.min(AT_ONCE, count - at) }, (_, i) => maliciousText(random, at + i))
    const filled = await fillMalicious(setup.na, texts, at)
    for (const [field, number] of Object.entries(filled.stored)) stored[field] = (stored[field] ?? 0) + number
    problems.push(...(await openAll(setup, [...new Set([...LISTS, ...filled.addresses])])))
  }
  return { problems, stored }
}

async function openAll({ na, browser, keyFile }: Setup, addresses: readonly string[]): Promise<readonly string[]> {
  const checkedPage = await openPage(browser, na.url, { reducedMotion: 'reduce' })
  const { page, trouble } = checkedPage
  await page.addInitScript(REPORTS)
  const problems: string[] = []
  for (const address of addresses) {
    try {
      await open(checkedPage, na.url, address, keyFile)
    } catch (error) {
      problems.push(`${address}: ${error instanceof Error ? error.message : String(error)}`)
      continue
    }
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      for (const finding of await layoutFindings(page)) problems.push(`${address}, ${width} px: ${finding}`)
    }
    const found = JSON.stringify(await page.evaluate('[window.ran ?? null, window.reports]'))
    if (found !== '[null,[]]') problems.push(`${address}: ${found}`)
  }
  // A network that is not added as a partner is a 404 of its route, which the browser reports.
  problems.push(...trouble.filter((each) => !each.includes('status of 404')))
  await checkedPage.close()
  return problems
}

async function open(checkedPage: CheckedPage, url: string, address: string, keyFile: string): Promise<void> {
  const { page } = checkedPage
  await visit(checkedPage, url + address)
  if (!address.startsWith('/operator')) return
  await signIn(page, keyFile)
  await page.waitForSelector('.keychip', { state: 'attached' })
  await page.waitForSelector('main :is(tbody tr, .panel:not(.choices), .blank, .headline)')
  await page.waitForSelector('[aria-busy=true]', { state: 'detached' })
}
