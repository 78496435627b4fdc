import { enroll, nodeCaller, testSeed, testSigner } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import { PAGES } from '../../../apps/console/src/explorer/view-location.ts'
import { visit as load } from '../browser.ts'
import { type Visit, attempt, checkPage, closeChecked, openMaliciousPage } from './check-page.ts'
import { type MaliciousSetup, openExplorer } from './setup.ts'

const kindOf = (name: string): string => `explorer: ${name}`
const [REVIEW, ANSWER] = ['review', 'answer']

/** What must have shown a text at the end. */
export const explorerKinds = (): readonly string[] => [...PAGES, REVIEW, ANSWER].map(kindOf)

/** Opens every page of the explorer of a gateway that publishes the network. */
export async function visitExplorer(setup: MaliciousSetup, visit: Visit): Promise<void> {
  const { gateway, client } = await openExplorer(setup)
  try {
    const checkedPage = await openMaliciousPage(setup, gateway.url)
    const { page } = checkedPage
    await load(checkedPage, gateway.url)
    await page.fill('#token', client.token)
    await page.press('#token', 'Enter')
    await page.waitForSelector('[data-client]')
    for (const [name, open] of Object.entries(await steps(page, setup)))
      await attempt(kindOf(name), visit, async () => {
        await open()
        await checkPage(checkedPage, kindOf(name), kindOf(name), visit)
      })
    await closeChecked(checkedPage, visit)
  } finally {
    await gateway.stop()
  }
}

/** How each page is opened, so that it shows what the authority has stored. In this order: one uses the other. */
async function steps(page: Page, setup: MaliciousSetup): Promise<Readonly<Record<string, () => Promise<void>>>> {
  const { na } = setup
  const node = nodeCaller(na.url, await testSigner('n', 'explorer'), () => na.core.clock.now())
  const certificate = JSON.stringify(await enroll(na, node))
  const go = async (hash: string, ready: string): Promise<void> => {
    await page.evaluate(`location.hash = '${hash}'`)
    await page.waitForSelector(ready)
  }
  return {
    overview: () => go('/overview', '[data-ready]'),
    async mesh() {
      await go('/mesh', '[data-domain]')
      await page.locator('[data-domain]').first().click()
      await page.waitForSelector('.inspector h2')
    },
    networks: () => go('/networks', '[data-network]'),
    federation: () => go('/federation', '#accepting'),
    explorer: () => go('/explorer', '[data-found]:not([data-found="0"])'),
    async review() {
      await go('/explorer/treaties-issue-treaty', '[data-operation="treaties-issue-treaty"]')
      await page.fill('#key-id', 'op-privileged')
      await page.fill('#seed', testSeed('op-privileged'))
      await page.click('text=Use this key here')
      await page.fill('#body', JSON.stringify({ subject_sovereign_id: setup.short }))
      await page.click('text=Review what will be signed')
      await page.waitForSelector('.review')
    },
    async answer() {
      await go('/explorer/public-get-policy', '[data-operation="public-get-policy"]')
      await page.click('text=Send GET')
      await page.waitForSelector('.answer[data-status="200"]')
    },
    async request() {
      await page.click('[data-follow]')
      await page.waitForSelector('[data-steps="3"]')
    },
    async certificate() {
      await go('/certificate', '#certificate')
      await page.fill('#certificate', certificate)
      await page.click('#content form button')
      await page.waitForSelector('[data-trusted]')
    },
  }
}
