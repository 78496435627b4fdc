import { describe, expect, it } from 'vitest'
import { axeFindings, isAxeScreen, openPage, screenshot, visit } from './browser.ts'
import type { ConsoleSetup } from './console-setup.ts'

const PAGES = ['/', '/connectome', '/atlas', '/api-reference', '/cli-reference', '/operator'] as const

/** Every page on every screen size, and without script. */
export function describePages(setup: () => ConsoleSetup): void {
  describe.each([
    [1440, 'light'],
    [1440, 'dark'],
    [360, 'light'],
    [360, 'dark'],
  ] as const)('at %i px, %s', (width, colorScheme) => {
    it.each(PAGES)('%s has no errors, fits the screen and is accessible', async (path) => {
      const { browser, demo } = setup()
      const checkedPage = await openPage(browser, demo.url, {
        viewport: { width, height: 900 },
        colorScheme,
        reducedMotion: 'reduce',
      })
      await visit(checkedPage, demo.url + path)
      await screenshot(checkedPage.page, `${path === '/' ? 'overview' : path.slice(1)}-${width}-${colorScheme}`)
      expect(await checkedPage.page.evaluate('document.body.dataset.enriched')).toBe('done')
      expect(await checkedPage.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      if (isAxeScreen(width, colorScheme)) expect(await axeFindings(checkedPage.page)).toEqual([])
      expect(checkedPage.trouble).toEqual([])
      await checkedPage.close()
    })
  })

  describe('without script', () => {
    it.each([
      ['/', ['1 warning.', 'OSPREY-GRID', 'Active nodes', 'spending', 'Attestation issued', 'When treaties end']],
      ['/connectome', ['OLD-LIGHTHOUSE', 'northwind-member-0311', 'Revocation blast radius']],
      ['/connectome?from=DEMO-HARBOUR&to=FJORD-BANK', ['Treaties in force lead there']],
      ['/atlas', ['MERIDIAN-HEALTH', 'Graph digest']],
      ['/api-reference', ['/admin/revoke', '/healthz']],
      ['/cli-reference', ['chancery treaty issue']],
      ['/operator', ['chancery revoke']],
    ] as const)('%s shows its content', async (path, facts) => {
      const { browser, demo } = setup()
      const checkedPage = await openPage(browser, demo.url, { javaScriptEnabled: false })
      await checkedPage.page.goto(demo.url + path)
      const text = (await checkedPage.page.textContent('main')) ?? ''
      for (const fact of facts) expect(text).toContain(fact)
      await checkedPage.close()
    })
  })
}
