import { accepted, send } from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { axeFindings, screenshotOf } from './browser.ts'
import { card, openDesk } from './desk.ts'
import type { Desk } from './desk.ts'
import type { Stage } from './stage.ts'

/** The demo's policy allows single amounts up to 1000; it was asked for 120, 480, 990, 1500, 75 and 4000. */
export function describePolicies(stage: () => Stage): void {
  describe('boundary policies', () => {
    let desk: Desk
    beforeEach(async () => {
      const { browser, demo } = stage()
      desk = await openDesk(browser, demo.url, demo.keyFile)
    })
    afterEach(() => desk.close())

    const active = async (): Promise<JsonObject[]> => {
      const view = accepted(await send(stage().demo.url, 'GET', '/dashboard.json'))
      return (view['boundary_policies'] as { active: JsonObject[] }).active
    }

    it('are written from the one in force, compared, judged on stored decisions, signed, and put in force', async () => {
      const { page } = desk
      await page.click('text=Read spending 2')
      await page.waitForSelector('[data-opened="signature holds"]')
      await page.click('text=Write the next version from this one')
      const text = await page.inputValue('#policy-publish-intent')
      await desk.write('policy-publish', { intent: text.replace(/"max": 1000\b/, '"max": 100') })
      const review = `${card('policy-publish')} .review`
      expect(await page.textContent(`${review} .gone`)).toContain('"max": 1000')
      expect(await page.textContent(`${review} .come`)).toContain('"max": 100')
      // 120, 480 and 990 were allowed and would not be; 75 still is; 1500 and 4000 were not and are not.
      expect(await page.getAttribute(`${review} [data-simulation]`, 'data-simulation')).toBe('3/0/3')
      expect(await desk.send('policy-publish')).toMatchObject({ policy_id: 'spending', version: 3 })
      expect(await active()).toMatchObject([{ version: 2 }])

      await page.click('[data-policies] >> text=Read again')
      await page.click('text=Compare and activate spending 3…')
      await page.waitForSelector(`${card('policy-activate')} form > button:focus`)
      await desk.review('policy-activate')
      expect(await page.textContent(`${card('policy-activate')} .gone`)).toContain('"max": 1000')
      expect(await page.getAttribute(`${card('policy-activate')} [data-simulation]`, 'data-simulation')).toBe('3/0/3')
      await screenshotOf(page, card('policy-activate'), 'operator-policy-1440-light')
      await screenshotOf(page, '[data-policies]', 'operator-policies-1440-light')
      expect(await axeFindings(page, { within: card('policy-activate') })).toEqual([])
      expect(await desk.send('policy-activate')).toMatchObject({ active: true, previous_version: 2 })
      expect(await active()).toMatchObject([{ policy_id: 'spending', version: 3 }])
    })

    it('are judged on requests somebody thinks of', async () => {
      const contexts = [50, 500].map((amount) => ({
        requested_capability: 'pay.invoice',
        request_parameters: { amount },
      }))
      await desk.write('policy-activate', {
        policy_id: 'spending',
        version: '2',
        contexts: JSON.stringify(contexts),
      })
      // Under version 3 the second one is denied.
      expect(await desk.page.getAttribute(`${card('policy-activate')} [data-simulation]`, 'data-simulation')).toBe(
        '0/1/1',
      )
      expect(await desk.send('policy-activate')).toMatchObject({ version: 2, previous_version: 3 })
    })

    it('with something wrong are not even signed', async () => {
      await desk.write('policy-publish', {
        intent: JSON.stringify({
          policy_id: 'spending',
          valid_from: '2020-01-01T00:00:00Z',
          valid_until: '2090-01-01T00:00:00Z',
          gates: [],
        }),
      })
      expect(await desk.page.textContent(`${card('policy-publish')} .review`)).toContain('It would be refused')
    })

    it('are taken out of force, after saying so', async () => {
      await desk.page.click('text=Deactivate spending 2…')
      await desk.page.waitForSelector(`${card('policy-deactivate')} form > button:focus`)
      await desk.review('policy-deactivate')
      expect(await desk.page.textContent(`${card('policy-deactivate')} [data-forecast]`)).toContain(
        'It is in force now',
      )
      expect(await desk.send('policy-deactivate')).toMatchObject({ active: false })
      expect(await active()).toEqual([])
      await desk.write('policy-activate', { policy_id: 'spending', version: '2' })
      await desk.send('policy-activate')
    })
  })
}
