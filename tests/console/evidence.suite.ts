import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { axeFindings, screenshotOf } from './browser.ts'
import { openOperatorPage } from './operator-page.ts'
import type { OperatorPageHandle } from './operator-page.ts'
import type { ConsoleSetup } from './console-setup.ts'

/** The demo contains six decisions and four payments. */
export function describeEvidence(setup: () => ConsoleSetup): void {
  describe('evidence', () => {
    let operatorPage: OperatorPageHandle
    beforeEach(async () => {
      const { browser, demo } = setup()
      operatorPage = await openOperatorPage(browser, demo.url, demo.keyFile)
    })
    afterEach(() => operatorPage.close())

    const search = async (values: Readonly<Record<string, string>>): Promise<number> => {
      for (const [name, value] of Object.entries(values)) await operatorPage.page.fill(`#evidence-${name}`, value)
      await Promise.all([
        operatorPage.page.waitForResponse('**/admin/evidence?*'),
        operatorPage.page.click('[data-evidence] form >> text=Search'),
      ])
      await operatorPage.page.waitForSelector('[data-found]')
      return Number(await operatorPage.page.getAttribute('[data-found]', 'data-found'))
    }

    it('is found by action, actor and time', async () => {
      expect(await search({ outcome: 'success' })).toBe(4)
      expect(await search({ outcome: '', resource_id: 'invoice/2' })).toBe(1)
      expect(await search({ resource_id: '', until: '2020-01-01T00:00:00Z' })).toBe(0)
      expect(await search({ until: '', entry_kind: 'decision' })).toBe(6)
      expect(operatorPage.trouble).toEqual([])
    })

    it('has its chain and anchors verified in the browser, which detects a changed line', async () => {
      const { page } = operatorPage
      expect(Number(await page.getAttribute('[data-store-head]', 'data-store-head'))).toBeGreaterThan(9)
      await page.click('text=Verify the chain here')
      await page.waitForSelector('[data-chain="holds"]')
      const text = await page.textContent('[data-chain]')
      expect(text).toContain('6 decisions, 4 executions')
      expect(text).toMatch(/\d+ anchors?, the newest at #\d+/)
      await screenshotOf(page, '[data-evidence]', 'operator-evidence-1440-light')
      expect(await axeFindings(page, { within: '[data-evidence]' })).toEqual([])
      await page.route('**/admin/evidence/export*', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response: response, body: (await response.text()).replace('pay.invoice', 'pay.invoicE') })
      })
      await page.click('text=Verify the chain here')
      await page.waitForSelector('[data-chain="broken"]')
    })

    it('shows an anchor of another chain when the chain itself is valid', async () => {
      const { page } = operatorPage
      await page.route('**/admin/evidence/anchors*', async (route) => {
        const response = await route.fetch()
        const body = (await response.text()).replace(/"entry_digest":"[0-9a-f]{4}/, '"entry_digest":"0000')
        await route.fulfill({ response: response, body })
      })
      await page.click('text=Verify the chain here')
      await page.waitForSelector('[data-chain="broken"]')
      expect(await page.textContent('[data-evidence]')).toContain('anchor_mismatch')
    })

    it('is anchored with a signed head', async () => {
      const { operator } = setup()
      await operatorPage.write('anchor', {})
      const response = await operatorPage.send('anchor')
      expect(['anchored', 'unchanged']).toContain(response['status'])
      expect((await operator.evidence.status())['unanchored_entries']).toBe(0)
    })
  })
}
