import { DAY, MINUTE, readJson, writeSortable } from '@chancery/protocol'
import { accepted, foreignFeed, foreignSovereign, wireText } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { storeTime } from '../../apps/authority/src/database/database.ts'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'
import { checkScreens } from './check-screens.ts'
import type { ConsolePage, FrameSetup } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'

let setup: FrameSetup
let own: ConsolePage
let page: Page
useFrame((opened, shared) => {
  setup = shared
  own = opened
  page = opened.page
})

/** A network that is not added as a partner is a 404 of its route, which the browser reports. */
const trouble = (): readonly string[] => own.trouble.filter((each) => !each.includes('status of 404'))
const sign = async (): Promise<void> => {
  await page.waitForSelector('[data-sign][aria-disabled=false]')
  await page.click('[data-sign]')
  await page.waitForSelector('.toast')
}
const openOverview = async (): Promise<void> => {
  await page.click('.side a[href="/operator"]:not(.whose)')
  await page.waitForSelector('.headline')
  await page.keyboard.press('R')
}
const row = (check: string): string => `.inbox [data-check=${check}]`
const expectGone = async (selector: string): Promise<void> => {
  await page.waitForSelector(selector, { state: 'detached' })
}

it('links a treaty that ends and an old feed to the drawers that end them', async () => {
  const issuer = foreignSovereign('OSPREY-GRID')
  accepted(
    await setup.na.as('privileged')('POST', '/admin/recognition-treaties', {
      subject_sovereign_id: 'OSPREY-GRID',
      subject_public_keys: [issuer.publicKey],
      validity_hours: 20,
    }),
    201,
  )
  await own.unlock('/operator')
  await page.waitForSelector('.headline:has-text("One treaty ends within a day.")')
  await page.waitForSelector(`${row('treaty')}[data-tone=urgent]:has-text("The treaty with OSPREY-GRID ends")`)
  await page.waitForSelector('.side a[href="/operator"] .n.urgent:has-text("2")')
  await page.click(`${row('treaty')} >> text=Renew…`)
  await page.waitForSelector('[data-drawer=renew]')
  await sign()
  await openOverview()
  await expectGone(row('treaty'))
  await page.waitForSelector('.headline:has-text("One revocation feed is old.")')
  await page.click(`${row('peer-feed')} >> text=Import…`)
  await page.waitForSelector('[data-drawer=import]')
  await page.fill('#field-feed', JSON.stringify(readJson(wireText(foreignFeed(issuer, 1, ['member-7'])))))
  await sign()
  await openOverview()
  await expectGone(row('peer-feed'))
  await page.waitForSelector('.headline:has-text("No problems")')
  expect(await page.locator('.side a[href="/operator"] .n').count()).toBe(0)
  expect(trouble()).toEqual([])
})

it('links silent nodes to their list, and the row leaves after their heartbeat', async () => {
  const db = rowsOf(setup.na.core.database)
  const set = (ago: bigint) =>
    db
      .updateTable('node_liveness')
      .set({ last_heartbeat: writeSortable(setup.na.core.clock.now() - ago) })
      .execute()
  await set(20n * MINUTE)
  await own.unlock('/operator')
  await page.waitForSelector('.headline:has-text("3 nodes are silent.")')
  await page.click(`${row('nodes-silent')} >> text=Look`)
  await page.waitForSelector('tbody tr:nth-child(3) >> text=Silent')
  expect(new URL(page.url()).search).toBe('?state=silent')
  await set(0n)
  await openOverview()
  await expectGone(row('nodes-silent'))
})

it('explains the command of a backup, until the backup is recorded', async () => {
  const created_at = writeSortable(setup.na.core.clock.now() - 2n * DAY)
  await rowsOf(setup.na.core.database).updateTable('authority_identity').set({ created_at }).execute()
  await own.unlock('/operator')
  await page.click(`${row('backup')} >> text=How`)
  await page.waitForSelector('[data-drawer=how]:has-text("chancery authority backup --home FOLDER --out FOLDER")')
  await setup.na.core.database.write((tx) => storeTime(tx, 'backup', setup.na.core.clock.now()))
  await page.waitForSelector('[data-drawer=how]:has-text("The check backup finds no problem.")')
  await page.click('[data-drawer=how] [aria-label=Close]')
  await expectGone(row('backup'))
  await page.waitForSelector('.verdict:has-text("the last backup is recent")')
})

it('shows at most eight rows and then all of them, with figures that open their lists, on every screen', async () => {
  for (let i = 0; i < 6; i += 1)
    accepted(
      await setup.na.as('privileged')('POST', '/admin/recognition-treaties', {
        subject_sovereign_id: `PARTNER-${i}`,
        subject_public_keys: [foreignSovereign(`PARTNER-${i}`).publicKey],
        validity_hours: 60,
      }),
      201,
    )
  await own.unlock('/operator')
  await page.waitForSelector('.headline:has-text("Six treaties end within three days.")')
  expect(await page.locator('.inbox li').count()).toBe(8)
  await checkScreens(page, 'overview')
  await page.click('text=and 5 more')
  await page.waitForSelector('.inbox li:nth-child(13)')
  for (const href of ['/operator/nodes', '/operator/decisions', '/operator/nodes?state=revoked', '/operator/evidence'])
    await page.waitForSelector(`a.vital[href="${href}"]`)
  await page.waitForSelector('.changes >> text=A treaty with PARTNER-5 was issued.')
  expect(own.trouble).toEqual([])
})
