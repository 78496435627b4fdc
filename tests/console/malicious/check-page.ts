import { type CheckedPage, nextFrames, openPage } from '../browser.ts'
import { layoutFindings } from '../layout-findings.ts'
import type { MaliciousSetup } from './setup.ts'
import { END_OF_TEXT } from './texts.ts'

/** `pages`: every page once, on a phone. `all`: every tab, filter and drawer too, in both widths. */
export type Extent = 'pages' | 'all'

/** What one visit of a page adds to the result. */
export interface Visit {
  readonly extent: Extent
  readonly problems: string[]
  readonly shown: Record<string, number>
}

const REPORTS =
  "window.reports = []; document.addEventListener('securitypolicyviolation', (event) => window.reports.push(event.violatedDirective))"

/**
 * Whether the page shows a text: in its content, in a dialog, in a message or in a field. The frame of the operator
 * console does not count, because it has the name of the network on every page.
 */
const HAS_TEXT = `(() => {
  const isFramed = document.querySelector('.app > main') !== null
  const parts = isFramed ? document.querySelectorAll('main > :not(.phonehead), dialog, .toasts') : [document.body]
  const texts = [...parts].map((part) => part.textContent)
  const values = [...document.querySelectorAll('input, textarea')].map((field) => field.value)
  return new RegExp(${JSON.stringify(END_OF_TEXT)}).test([...texts, ...values].join(' '))
})()`

/** Long texts break a narrow page first. */
const WIDTHS = { pages: [390], all: [1440, 390] } as const

/** A page of one origin, on which every malicious text that runs and every report is recorded. */
export async function openMaliciousPage({ browser }: MaliciousSetup, url: string): Promise<CheckedPage> {
  const checkedPage = await openPage(browser, url, { reducedMotion: 'reduce' })
  // Under the load of other work a page takes seconds.
  checkedPage.page.setDefaultTimeout(60_000)
  await checkedPage.page.addInitScript(REPORTS)
  return checkedPage
}

/** Checks what the page shows now, in the widths of the visit. `where` names it in the problems, `kind` in the count. */
export async function checkPage({ page }: CheckedPage, where: string, kind: string, visit: Visit): Promise<void> {
  for (const width of WIDTHS[visit.extent]) {
    await page.setViewportSize({ width, height: 900 })
    await nextFrames(page)
    for (const finding of await layoutFindings(page)) visit.problems.push(`${where}, ${width} px: ${finding}`)
  }
  const found = JSON.stringify(await page.evaluate('[window.ran ?? null, window.reports]'))
  if (found !== '[null,[]]') visit.problems.push(`${where}: ${found}`)
  if (await page.evaluate<boolean>(HAS_TEXT)) visit.shown[kind] = (visit.shown[kind] ?? 0) + 1
}

/** Runs one step. A step that fails is a problem, and the next step is done. */
export async function attempt(where: string, visit: Visit, step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    visit.problems.push(`${where}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Closes the page. The browser itself logs refused requests; only too many of them are a problem. */
export async function closeChecked(checkedPage: CheckedPage, visit: Visit): Promise<void> {
  visit.problems.push(...checkedPage.trouble.filter((each) => !/status of 4(?!29)\d\d/.test(each)))
  await checkedPage.close()
}
