import { describe, expect, it } from 'vitest'
import { openPage, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import type { ConsoleSetup } from './console-setup.ts'

const PAGES = [
  '/',
  '/connectome',
  '/atlas',
  '/api-reference',
  '/cli-reference',
  '/operator',
  '/operator/nodes',
] as const

/** The references list hundreds of equal entries; three of each section are enough before a merge. */
const REPEATED = 'details.route:nth-of-type(n+4)'

/** Every page in every width and colour scheme, and without script. */
export function describePages(setup: () => ConsoleSetup): void {
  it.each(PAGES)('%s has no errors and no findings on any screen', async (path) => {
    const { browser, demo } = setup()
    const checkedPage = await openPage(browser, demo.url, { reducedMotion: 'reduce' })
    const { page } = checkedPage
    await visit(checkedPage, demo.url + path)
    expect(await page.evaluate('document.body.dataset.enriched')).toBe('done')
    const name = path === '/' ? 'overview' : path.slice(1).replace('/', '-')
    await checkScreens(page, name, { without: REPEATED })
    expect(checkedPage.trouble).toEqual([])
    await checkedPage.close()
  })

  describe('without script', () => {
    it.each([
      [
        '/',
        [
          '1 treaty is expired or ends within 72 hours.',
          'OSPREY-GRID',
          'Active nodes',
          'spending',
          'Attestation issued',
          'When treaties end',
        ],
      ],
      ['/connectome', ['OLD-LIGHTHOUSE', 'northwind-member-0311', 'Withdrawn by others']],
      ['/connectome?from=DEMO-HARBOUR&to=FJORD-BANK', ['Treaties in force lead there']],
      ['/atlas', ['MERIDIAN-HEALTH', 'Graph digest']],
      ['/api-reference', ['/admin/revoke', '/healthz']],
      ['/cli-reference', ['chancery treaty issue']],
      ['/operator', ['chancery node revoke', 'the script did not load']],
      ['/operator/nodes/any/depth', ['chancery node revoke', 'the script did not load']],
    ] as const)('%s shows its content', async (path, facts) => {
      const { browser, demo } = setup()
      const checkedPage = await openPage(browser, demo.url, { javaScriptEnabled: false })
      await checkedPage.page.goto(demo.url + path)
      const text = (await checkedPage.page.textContent('main')) ?? ''
      for (const fact of facts) expect(text).toContain(fact)
      await checkedPage.close()
    })

    it('has the parts of the Connectome as links', async () => {
      const { browser, demo } = setup()
      const checkedPage = await openPage(browser, demo.url, { javaScriptEnabled: false })
      const { page } = checkedPage
      const tab = (text: string): string => `nav[aria-label="Connectome"] a:has-text("${text}")`
      await page.goto(`${demo.url}/connectome`)
      expect(await page.getAttribute(tab('Map'), 'aria-current')).toBe('page')
      for (const [text, place] of [
        ['Treaties', 'treaties'],
        ['Withdrawn by others', 'withdrawn'],
      ] as const) {
        await page.click(tab(text))
        expect(new URL(page.url()).hash).toBe(`#${place}`)
        expect(await page.textContent(`#${place}`)).toBe(text)
      }
      await page.click(tab('Digest and exports'))
      expect(new URL(page.url()).pathname).toBe('/atlas')
      expect(await page.getAttribute(tab('Digest and exports'), 'aria-current')).toBe('page')
      await checkedPage.close()
    })
  })
}
