import { accepted, send } from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { axeFindings, screenshotOf } from './browser.ts'
import { card, openOperatorPage } from './operator-page.ts'
import type { OperatorPageHandle } from './operator-page.ts'
import type { ConsoleSetup } from './console-setup.ts'

/** The policy of the demo allows single amounts up to 1000. The requests were 120, 480, 990, 1500, 75 and 4000. */
export function describePolicies(setup: () => ConsoleSetup): void {
  describe('boundary policies', () => {
    let operatorPage: OperatorPageHandle
    beforeEach(async () => {
      const { browser, demo } = setup()
      operatorPage = await openOperatorPage(browser, demo.url, demo.keyFile)
    })
    afterEach(() => operatorPage.close())

    const active = async (): Promise<JsonObject[]> => {
      const view = accepted(await send(setup().demo.url, 'GET', '/dashboard.json'))
      return (view['boundary_policies'] as { active: JsonObject[] }).active
    }

    it('are written from the active version, compared, simulated with stored decisions, signed, and activated', async () => {
      const { page } = operatorPage
      await page.click('text=Read spending 2')
      await page.waitForSelector('[data-opened="signature valid"]')
      await page.click('text=Write the next version from this one')
      const text = await page.inputValue('#policy-publish-intent')
      await operatorPage.write('policy-publish', { intent: text.replace(/"max": 1000\b/, '"max": 100') })
      const review = `${card('policy-publish')} .review`
      expect(await page.textContent(`${review} .removed`)).toContain('"max": 1000')
      expect(await page.textContent(`${review} .added`)).toContain('"max": 100')
      // 120, 480 and 990 become denied; 75 stays allowed; 1500 and 4000 stay denied.
      expect(await page.getAttribute(`${review} [data-simulation]`, 'data-simulation')).toBe('3/0/3')
      expect(await operatorPage.send('policy-publish')).toMatchObject({ policy_id: 'spending', version: 3 })
      expect(await active()).toMatchObject([{ version: 2 }])

      await page.click('[data-policies] >> text=Read again')
      await page.click('text=Compare and activate spending 3…')
      await page.waitForSelector(`${card('policy-activate')} form > button:focus`)
      await operatorPage.review('policy-activate')
      expect(await page.textContent(`${card('policy-activate')} .removed`)).toContain('"max": 1000')
      expect(await page.getAttribute(`${card('policy-activate')} [data-simulation]`, 'data-simulation')).toBe('3/0/3')
      await screenshotOf(page, card('policy-activate'), 'operator-policy-1440-light')
      await screenshotOf(page, '[data-policies]', 'operator-policies-1440-light')
      expect(await axeFindings(page, { within: card('policy-activate') })).toEqual([])
      expect(await operatorPage.send('policy-activate')).toMatchObject({ active: true, previous_version: 2 })
      expect(await active()).toMatchObject([{ policy_id: 'spending', version: 3 }])
    })

    it('are simulated with given requests', async () => {
      const contexts = [50, 500].map((amount) => ({
        requested_capability: 'pay.invoice',
        request_parameters: { amount },
      }))
      await operatorPage.write('policy-activate', {
        policy_id: 'spending',
        version: '2',
        contexts: JSON.stringify(contexts),
      })
      // Under version 3 the second one is denied.
      expect(
        await operatorPage.page.getAttribute(`${card('policy-activate')} [data-simulation]`, 'data-simulation'),
      ).toBe('0/1/1')
      expect(await operatorPage.send('policy-activate')).toMatchObject({ version: 2, previous_version: 3 })
    })

    it('with an error are not signed', async () => {
      await operatorPage.write('policy-publish', {
        intent: JSON.stringify({
          policy_id: 'spending',
          valid_from: '2020-01-01T00:00:00Z',
          valid_until: '2090-01-01T00:00:00Z',
          gates: [],
        }),
      })
      expect(await operatorPage.page.textContent(`${card('policy-publish')} .review`)).toContain('It would be refused')
    })

    it('are deactivated after a preview', async () => {
      await operatorPage.page.click('text=Deactivate spending 2…')
      await operatorPage.page.waitForSelector(`${card('policy-deactivate')} form > button:focus`)
      await operatorPage.review('policy-deactivate')
      expect(await operatorPage.page.textContent(`${card('policy-deactivate')} [data-preview]`)).toContain(
        'It is in force now',
      )
      expect(await operatorPage.send('policy-deactivate')).toMatchObject({ active: false })
      expect(await active()).toEqual([])
      await operatorPage.write('policy-activate', { policy_id: 'spending', version: '2' })
      await operatorPage.send('policy-activate')
    })
  })
}
