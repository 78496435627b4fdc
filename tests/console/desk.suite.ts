import { createClient } from '@chancery/sdk'
import { foreignSovereign, testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { axeFindings, screenshotOf } from './browser.ts'
import { card, openDesk } from './desk.ts'
import type { Desk } from './desk.ts'
import type { Stage } from './stage.ts'

/** Every signed action, with its effect looked up beside the page. */
export function describeDesk(stage: () => Stage): void {
  describe('signed work', () => {
    let desk: Desk
    beforeEach(async () => {
      const { browser, demo } = stage()
      desk = await openDesk(browser, demo.url, demo.keyFile)
    })
    afterEach(() => desk.close())
    const roster = async (): Promise<readonly string[]> =>
      Object.keys((await stage().operator.enrollment.roster()).nodes)

    it('has no serious finding for those who use it in other ways', async () => {
      for (const summary of await desk.page.locator('.action > summary').all()) await summary.click()
      for (const width of [1440, 360]) {
        await desk.page.setViewportSize({ width, height: 900 })
        for (const colorScheme of ['light', 'dark'] as const) {
          await desk.page.emulateMedia({ colorScheme })
          await screenshotOf(desk.page, '#desk section:nth-of-type(2)', `operator-work-${width}-${colorScheme}`)
          // Of two hundred equal rows a few are enough.
          expect(await axeFindings(desk.page, { without: '#desk tbody tr:nth-child(n+4)' })).toEqual([])
          expect(await desk.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
        }
      }
    })

    it('invites a node, which then joins', async () => {
      const { demo, operator } = stage()
      await desk.write('invite', { roles: 'role:client role:service' })
      const invite = await desk.send('invite')
      const { network_authority } = await operator.sovereign.genesis()
      const signer = await testSigner('n', 'invited at the desk')
      const node = createClient({ url: demo.url, node: { signer, audience: network_authority.public_key } })
      const { roles } = await node.enrollment.join({ invite_token: String(invite['token_id']) })
      expect(roles).toEqual(['role:client', 'role:service'])
      expect(desk.trouble).toEqual([])
    })

    it('revokes a certificate picked from the roster, after drawing what that takes away and being told so', async () => {
      const { operator } = stage()
      const { page } = desk
      // Of a node with an agent, so that more than the certificate is lost.
      const [agent] = (await operator.agents.search('pay.invoice')).agents
      const nodes = Object.entries((await operator.enrollment.roster()).nodes)
      const [id = ''] = nodes.find(([, node]) => node.node_public_key === agent?.node_public_key) ?? []
      await page.locator(`button[aria-label="Revoke ${id}"]`).click()
      await page.waitForSelector(`${card('revoke')} form > button:focus`)
      await page.keyboard.press('Enter')
      await page.waitForSelector(`${card('revoke')} [data-forecast]`)
      expect(await page.textContent(`${card('revoke')} [data-forecast]`)).toContain(`1 certificate (${id})`)
      expect(await page.getAttribute(`${card('revoke')} [data-ripple]`, 'data-ripple')).toBe('1')
      expect(await page.isDisabled(`${card('revoke')} >> text=Sign and send`)).toBe(true)
      await screenshotOf(page, card('revoke'), 'operator-revoke-1440-light')
      const { sequence } = await operator.crl.current()
      // Showing it changed nothing.
      expect(await roster()).toContain(id)
      expect(await desk.send('revoke')).toMatchObject({ crl_sequence: sequence + 1 })
      expect(await roster()).not.toContain(id)
    })

    it('shows again what was changed after it was shown', async () => {
      const [first = '', second = ''] = await roster()
      await desk.write('revoke', { cert_id: first })
      await desk.page.fill('#revoke-cert_id', second)
      expect(await desk.page.locator(`${card('revoke')} .review`).count()).toBe(0)
    })

    it('recognises a sovereign, then ends the treaty after drawing the lost paths', async () => {
      const { operator } = stage()
      await desk.write('treaty-issue', {
        subject_sovereign_id: 'ZEPHYR',
        subject_public_keys: foreignSovereign('ZEPHYR').publicKey,
        roles: 'role:client',
      })
      const treaty_id = String((await desk.send('treaty-issue'))['treaty_id'])
      expect(await operator.recognitionTreaties.find(treaty_id)).toMatchObject({ status: 'active' })
      await desk.write('treaty-revoke', { treaty_id, reason: 'over' })
      const forecast = await desk.page.textContent(`${card('treaty-revoke')} [data-forecast]`)
      expect(forecast).toContain('DEMO-HARBOUR → ZEPHYR')
      expect(forecast).toContain('No other treaty in force joins the two directly.')
      expect(await desk.page.getAttribute(`${card('treaty-revoke')} [data-ripple]`, 'data-ripple')).toBe('1')
      await desk.page.setViewportSize({ width: 360, height: 800 })
      await screenshotOf(desk.page, card('treaty-revoke'), 'operator-treaty-360-light')
      expect(await desk.send('treaty-revoke')).toMatchObject({ status: 'revoked' })
    })

    it('attests a member, then withdraws it', async () => {
      await desk.write('attestation-issue', { subject_id: 'member-1', roles: 'role:client' })
      const attestation_id = String((await desk.send('attestation-issue'))['attestation_id'])
      await desk.write('attestation-revoke', { attestation_id })
      expect(await desk.send('attestation-revoke')).toMatchObject({ status: 'revoked' })
    })
  })
}
