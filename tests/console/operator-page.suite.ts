import { foreignSovereign } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { axeFindings, isAxeScreen, screenshotOf } from './browser.ts'
import { card, openOperatorPage } from './operator-page.ts'
import type { OperatorPageHandle } from './operator-page.ts'
import type { ConsoleSetup } from './console-setup.ts'

/** Every signed action. Its effect is checked with direct requests. */
export function describeOperatorPage(setup: () => ConsoleSetup): void {
  describe('operator actions', () => {
    let operatorPage: OperatorPageHandle
    beforeEach(async () => {
      const { browser, demo } = setup()
      operatorPage = await openOperatorPage(browser, demo.url, demo.keyFile)
    })
    afterEach(() => operatorPage.close())
    const roster = async (): Promise<readonly string[]> =>
      Object.keys((await setup().operator.enrollment.roster()).nodes)

    it('have no serious accessibility finding', async () => {
      for (const summary of await operatorPage.page.locator('.action > summary').all()) await summary.click()
      for (const width of [1440, 360]) {
        await operatorPage.page.setViewportSize({ width, height: 900 })
        for (const colorScheme of ['light', 'dark'] as const) {
          await operatorPage.page.emulateMedia({ colorScheme })
          await screenshotOf(
            operatorPage.page,
            '#operator section:nth-of-type(2)',
            `operator-work-${width}-${colorScheme}`,
          )
          // A few of the equal rows are enough.
          const without = '#operator tbody tr:nth-child(n+4)'
          if (isAxeScreen(width, colorScheme)) expect(await axeFindings(operatorPage.page, { without })).toEqual([])
          expect(await operatorPage.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
        }
      }
    })

    it('list partners, pull one, and remove it after showing the treaties that stay', async () => {
      const { operator } = setup()
      const { page } = operatorPage
      const { root_public_key } = await operator.sovereign.genesis()
      await operator.partners.add({
        url: 'https://na.far.invalid',
        sovereign_id: 'FAR-NET',
        root_public_key,
        label: 'far away',
        defer: true,
      })
      await page.click('[data-partners] >> text=Read again')
      await page.waitForSelector('[data-listed="1"]')
      expect(await page.textContent('[data-listed]')).toMatch(/FAR-NET far away.*new.*none/)
      await page.click('[aria-label="Pull FAR-NET"]')
      await page.waitForSelector('[data-partners] >> text=FAR-NET: unreachable.')
      expect(await axeFindings(page, { within: '[data-partners]' })).toEqual([])
      await page.click('[aria-label="Remove… FAR-NET"]')
      await page.fill('#partner-remove-reason', 'over')
      await page.click('[data-action="partner-remove"] >> text=Show what it will do')
      await page.waitForSelector('[data-action="partner-remove"] >> text=No own treaty with it is in force.')
      await operator.partners.remove('FAR-NET', { reason: 'over' })
      await page.click('[data-partners] >> text=Read again')
      await page.waitForSelector('[data-listed="0"]')
      expect(operatorPage.trouble).toEqual([])
    })

    it('revoke a certificate selected from the node list, after showing the impact', async () => {
      const { operator } = setup()
      const { page } = operatorPage
      // Uses a node with an agent, so that more than the certificate is lost.
      const [agent] = (await operator.agents.search('pay.invoice')).agents
      const nodes = Object.entries((await operator.enrollment.roster()).nodes)
      const [id = ''] = nodes.find(([, node]) => node.node_public_key === agent?.node_public_key) ?? []
      await page.locator(`button[aria-label="Revoke ${id}"]`).click()
      await page.waitForSelector(`${card('revoke')} form > button:focus`)
      await page.keyboard.press('Enter')
      await page.waitForSelector(`${card('revoke')} [data-preview]`)
      expect(await page.textContent(`${card('revoke')} [data-preview]`)).toContain(`1 certificate (${id})`)
      expect(await page.getAttribute(`${card('revoke')} [data-impact]`, 'data-impact')).toBe('1')
      expect(await page.isDisabled(`${card('revoke')} >> text=Sign and send`)).toBe(true)
      await screenshotOf(page, card('revoke'), 'operator-revoke-1440-light')
      const { sequence } = await operator.crl.current()
      // The preview changed nothing.
      expect(await roster()).toContain(id)
      expect(await operatorPage.send('revoke')).toMatchObject({ crl_sequence: sequence + 1 })
      expect(await roster()).not.toContain(id)
    })

    it('require a new review after a change', async () => {
      const [first = '', second = ''] = await roster()
      await operatorPage.write('revoke', { cert_id: first })
      await operatorPage.page.fill('#revoke-cert_id', second)
      expect(await operatorPage.page.locator(`${card('revoke')} .review`).count()).toBe(0)
    })

    it('recognise a network, then end the treaty after showing the lost paths', async () => {
      const { operator } = setup()
      await operatorPage.write('treaty-issue', {
        subject_sovereign_id: 'ZEPHYR',
        subject_public_keys: foreignSovereign('ZEPHYR').publicKey,
        roles: 'role:client',
      })
      const treaty_id = String((await operatorPage.send('treaty-issue'))['treaty_id'])
      expect(await operator.recognitionTreaties.find(treaty_id)).toMatchObject({ status: 'active' })
      await operatorPage.write('treaty-revoke', { treaty_id, reason: 'over' })
      const preview = await operatorPage.page.textContent(`${card('treaty-revoke')} [data-preview]`)
      expect(preview).toContain('DEMO-HARBOUR → ZEPHYR')
      expect(preview).toContain('No other active treaty connects the two directly.')
      expect(await operatorPage.page.getAttribute(`${card('treaty-revoke')} [data-impact]`, 'data-impact')).toBe('1')
      await operatorPage.page.setViewportSize({ width: 360, height: 800 })
      await screenshotOf(operatorPage.page, card('treaty-revoke'), 'operator-treaty-360-light')
      expect(await operatorPage.send('treaty-revoke')).toMatchObject({ status: 'revoked' })
    })

    it('attest a member, then revoke the attestation', async () => {
      await operatorPage.write('attestation-issue', { subject_id: 'member-1', roles: 'role:client' })
      const attestation_id = String((await operatorPage.send('attestation-issue'))['attestation_id'])
      await operatorPage.write('attestation-revoke', { attestation_id })
      expect(await operatorPage.send('attestation-revoke')).toMatchObject({ status: 'revoked' })
    })
  })
}
