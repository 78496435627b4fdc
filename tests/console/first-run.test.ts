import { readFile, writeFile } from 'node:fs/promises'
import { writeOperatorsFile } from '@chancery/contract'
import { writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { accepted, foreignSovereign, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestContext } from '../../apps/cli/src/testing/run-command.suite.ts'
import { type CheckedPage, closePages, openPage, sharedBrowser, visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import { signIn } from './operator-page.ts'

/** An authority of one operator, without node, policy, partner or backup. */
let na: TestAuthority
let browser: Browser
let checkedPage: CheckedPage
let page: Page
let host: TestContext

beforeAll(async () => {
  host = await TestContext.make()
  const { publicKey } = await testSigner('op-privileged')
  const first = { key_id: 'op-privileged', public_key: publicKey, tier: 'privileged', added_at: null } as const
  await writeFile(host.path('operators.json'), writeOperatorsFile({ operators: [first], removed: [] }), { mode: 0o600 })
  await writeFile(host.path('op.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), { mode: 0o600 })
  ;[na, browser] = await Promise.all([
    startTestAuthority({
      operators: { privileged: 'privileged' },
      settings: {
        EVIDENCE_STORE: 'on',
        OPERATOR_PUBLIC_KEYS_JSON: host.path('operators.json'),
        OPERATOR_KEY_TIERS_JSON: '{}',
      },
    }),
    sharedBrowser(),
  ])
  checkedPage = await openPage(browser, na.url)
  page = checkedPage.page
})
afterAll(async () => {
  await closePages(browser)
  await na.stop()
  await host.remove()
})

const step = (name: string, done: 'yes' | 'no'): string => `[data-step=${name}][data-done=${done}]`
const open = async (path: string): Promise<void> => {
  await visit(checkedPage, na.url + path)
  await signIn(page, host.path('op.key'))
  await page.waitForSelector('.keychip')
}
/** Opens the steps from Help, and waits until one is ticked. The key R reads again at once. */
const expectTick = async (name: string): Promise<void> => {
  await page.click('.side a[href="/operator/help"]')
  await page.click('.panel a[href="/operator/start"] >> nth=0')
  await page.waitForSelector('[data-step=founded]')
  await page.keyboard.press('R')
  await page.waitForSelector(step(name, 'yes'))
}
const sign = async (): Promise<void> => {
  await page.waitForSelector('[data-sign][aria-disabled=false]')
  await page.click('[data-sign]')
}

it('shows the first steps in place of the overview, until they are hidden, and Help shows them again', async () => {
  await open('/operator')
  for (const name of ['founded', 'signed-in']) await page.waitForSelector(step(name, 'yes'))
  for (const name of ['root-key', 'invite', 'join', 'operator', 'policy', 'partner', 'gateway', 'backup', 'watch'])
    await page.waitForSelector(step(name, 'no'))
  await checkScreens(page, 'first-steps')
  await page.click('text=Hide the steps')
  await page.waitForSelector('.headline:has-text("No problems")')
  // One operator key only can wait, and is listed.
  await page.waitForSelector('[data-check=operator-keys][data-tone=ended]')
  expect(await page.locator('[data-check=first-steps]').count()).toBe(0)
  await page.click('.side a[href="/operator/help"]')
  await page.click('.panel a[href="/operator/start"] >> nth=0')
  await page.click('text=Show the steps on the overview again')
  await page.waitForSelector(step('invite create', 'no'))
  expect(new URL(page.url()).pathname).toBe('/operator')
  expect(checkedPage.trouble).toEqual([])
})

it.each([
  '/operator/nodes',
  '/operator/nodes?tab=invites',
  '/operator/agents',
  '/operator/partners',
  '/operator/partners?tab=treaties',
  '/operator/partners?tab=members',
  '/operator/partners?tab=withdrawn',
  '/operator/policies',
  '/operator/decisions',
  '/operator/evidence',
  '/operator/evidence?view=anchors',
  '/operator/evidence?view=keys',
])('has the next action in the empty list %s', async (path) => {
  await open(path)
  await page.waitForSelector('.blank a.btn[href^="/operator"]')
})

it('ticks the steps that only the operator can confirm, and takes a tick back', async () => {
  await open('/operator')
  await page.click('[data-step=root-key] >> text=It is offline')
  await page.waitForSelector(step('root-key', 'yes'))
  await page.click('[data-step=root-key] >> text=Not yet')
  await page.waitForSelector(step('root-key', 'no'))
  await page.click('[data-step=root-key] >> text=It is offline')
  await page.click('[data-step=gateway] >> text=Skip')
  await page.waitForSelector('[data-step=gateway][data-done=yes]:has-text("Skipped")')
  await page.click('[data-step=watch] >> text=It runs')
  await page.waitForSelector(step('authority watch', 'yes'))
})

it('ticks the invite and the join when the first node joins with the shown token', async () => {
  await page.click('[data-step=invite] >> text=Invite a node…')
  await sign()
  const token = (await page.textContent('[data-token]')) ?? ''
  await page.click('text=Done')
  await page.click('text=Close without the token')
  await expectTick('invite create')
  expect(await page.locator(step('join', 'no')).count()).toBe(1)
  const node = nodeCaller(na.url, await testSigner('n', 'first'), () => na.core.clock.now())
  accepted(await node.join(token), 201)
  await expectTick('join')
  // Now the overview has its place, with the rest as one row.
  await page.click('.side a[href="/operator"]:not(.whose)')
  await page.waitForSelector('[data-check=first-steps]:has-text("of the first steps are open")')
})

it('ticks the policy and the partner after the drawers that their buttons open', async () => {
  await page.click('[data-check=first-steps] >> text=Continue')
  await page.click('[data-step=policy] >> text=New policy')
  await page.waitForSelector('[data-validation="valid"]')
  await page.click('text=Publish and activate…')
  await sign()
  await expectTick('policy')
  await page.click('[data-step=partner] >> text=Recognise a partner…')
  await page.click('#field-how >> text="Its authority key"')
  await page.fill('#field-name', 'FJORD-BANK')
  await page.fill('#field-keys', foreignSovereign('FJORD-BANK').publicKey)
  await sign()
  await page.waitForSelector('.toast:has-text("FJORD-BANK is recognised.")')
  await expectTick('partner')
})

it('ticks the second operator and the backup after their commands', async () => {
  await host.run('keygen operator --out ops-2')
  const added = await host.run('operator add ops-2 --key ops-2.pub --tier privileged --file operators.json')
  expect(added.code, added.stderr).toBe(0)
  await expectTick('operator')
  const { settings } = na
  await writeFile(host.path('genesis.json'), writeJson(na.genesis))
  await writeFile(host.path('na.key'), writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
  const values = {
    GENESIS_FILE: host.path('genesis.json'),
    NA_PRIVATE_KEY_FILE: host.path('na.key'),
    NA_KEY_ID: settings.keyId,
    OPERATOR_PUBLIC_KEYS_JSON: host.path('operators.json'),
    EVIDENCE_STORE: 'on',
    ...na.database.settings,
  }
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  await writeFile(host.path('authority.env'), lines.join('\n'), { mode: 0o600 })
  const made = await host.run(`authority backup --env-file ${host.path('authority.env')} --to ${host.path('backup')}`)
  expect(made.code, made.stderr).toBe(0)
  expect(await readFile(host.path('backup', 'manifest.json'), 'utf8')).toContain('"backup_version"')
  await expectTick('backup')
  await page.waitForSelector('text=All steps are done.')
  expect(await page.locator('[data-done=no]').count()).toBe(0)
  await page.click('.side a[href="/operator"]:not(.whose)')
  await page.waitForSelector('.headline')
  expect(await page.locator('[data-check=first-steps]').count()).toBe(0)
  expect(checkedPage.trouble).toEqual([])
})
