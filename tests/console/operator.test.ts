import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { accepted, foreignSovereign, testSeed } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { axeFindings, openBrowser, openPage, screenshot, visit } from './browser.ts'
import type { WatchedPage } from './browser.ts'
import { NETWORK, startNetwork } from './network.ts'

let na: TestAuthority
let browser: Browser
let home: string
let watched: WatchedPage
let page: Page
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startNetwork(), openBrowser()])
  home = await mkdtemp(join(tmpdir(), 'chancery-console-'))
  const write = (name: string): Promise<void> =>
    writeFile(join(home, `${name}.key`), writePrivateKeyFile(testSeed(name), name), { mode: 0o600 })
  await Promise.all(['op-privileged', 'op-standard', 'op-stranger'].map(write))
})
afterAll(async () => {
  await browser.close()
  await na.stop()
  await rm(home, { recursive: true, force: true })
})
beforeEach(async () => {
  watched = await openPage(browser, na.url)
  page = watched.page
  await visit(watched, `${na.url}/operator`)
})
afterEach(() => watched.close())

async function signIn(name: string): Promise<void> {
  await page.setInputFiles('#key-file', join(home, `${name}.key`))
  await page.click('text=Use this key here')
}

const card = (id: string): string => `[data-action="${id}"]`

async function write(id: string, values: Readonly<Record<string, string>>): Promise<void> {
  await page.click(`${card(id)} > summary`)
  for (const [name, value] of Object.entries(values)) {
    const field = page.locator(`#${id}-${name}`)
    if ((await field.evaluate('(element) => element.tagName')) === 'SELECT') await field.selectOption(value)
    else await field.fill(value)
  }
  await page.click(`${card(id)} form > button`)
  await page.waitForSelector(`${card(id)} .review, ${card(id)} [role=alert]`)
}

async function send(id: string): Promise<JsonObject> {
  const sure = page.locator(`${card(id)} input[type=checkbox]`)
  if ((await sure.count()) > 0) await sure.check()
  await page.click(`${card(id)} >> text=Sign and send`)
  await page.waitForSelector(`${card(id)} [data-done], ${card(id)} [role=alert]`)
  return JSON.parse((await page.textContent(`${card(id)} [data-done] pre`)) ?? '') as JsonObject
}

const get = async (path: string): Promise<JsonObject> => accepted(await na.request('GET', path))

describe('the key', () => {
  it('stays in the page: nothing is stored, and forgetting it leaves nothing', async () => {
    await signIn('op-privileged')
    await page.waitForSelector('text=key in this page')
    const kept = await page.evaluate(
      'Promise.all([indexedDB.databases(), Object.keys(localStorage), Object.keys(sessionStorage), document.cookie])',
    )
    expect(kept).toEqual([[], [], [], ''])
    expect(await page.content()).not.toContain(testSeed('op-privileged'))
    await page.click('text=Forget the key')
    await page.waitForSelector('#key-file')
    expect(watched.trouble).toEqual([])
  })

  it('is refused at once when the authority does not know it', async () => {
    await signIn('op-stranger')
    await page.waitForSelector('#desk [role=alert]')
    expect(await page.locator('.action').count()).toBe(0)
  })

  it('of the lower tier is told what it may not do, and nothing changes', async () => {
    await signIn('op-standard')
    await page.waitForSelector('.action')
    const before = await get('/crl')
    const [id] = await roster()
    await write('revoke', { cert_id: id ?? '' })
    expect(await page.textContent(`${card('revoke')} [role=alert]`)).toMatch(/tier|privileged/i)
    expect((await get('/crl'))['sequence']).toBe(before['sequence'])
  })
})

async function roster(): Promise<readonly string[]> {
  const { nodes } = accepted(await na.as('standard')('GET', '/nodes'))
  return Object.keys(nodes as JsonObject)
}

describe('signed work', () => {
  beforeEach(async () => {
    await signIn('op-privileged')
    await page.waitForSelector('.action')
  })

  it('has no serious finding for those who use it in other ways', async () => {
    for (const summary of await page.locator('.action > summary').all()) await summary.click()
    await screenshot(page, 'operator-signed-in-1440-light')
    expect(await axeFindings(page)).toEqual([])
  })

  it('invites a node', async () => {
    await write('invite', { roles: 'role:client role:service' })
    const invite = await send('invite')
    expect(String(invite['token_id'])).not.toBe('')
    expect(await na.auditEvents('invite_created')).not.toHaveLength(0)
    expect(watched.trouble).toEqual([])
  })

  it('revokes a certificate picked from the roster, after showing what that does and being told so', async () => {
    const [id = ''] = await roster()
    await page.click(`button[aria-label="Revoke ${id}"]`)
    await page.waitForSelector(`${card('revoke')} form > button:focus`)
    await page.keyboard.press('Enter')
    await page.waitForSelector(`${card('revoke')} [data-forecast]`)
    expect(await page.textContent(`${card('revoke')} [data-forecast]`)).toContain(`1 certificate (${id})`)
    expect(await page.isDisabled(`${card('revoke')} >> text=Sign and send`)).toBe(true)
    const before = Number((await get('/crl'))['sequence'])
    // Showing it changed nothing.
    expect(await roster()).toContain(id)
    expect(await send('revoke')).toMatchObject({ crl_sequence: before + 1 })
    expect(await roster()).not.toContain(id)
  })

  it('shows again what was changed after it was shown', async () => {
    const [first = '', second = ''] = await roster()
    await write('revoke', { cert_id: first })
    await page.fill('#revoke-cert_id', second)
    expect(await page.locator(`${card('revoke')} .review`).count()).toBe(0)
  })

  it('recognises a sovereign, then ends the treaty after showing the lost paths', async () => {
    await write('treaty-issue', {
      subject_sovereign_id: 'ZEPHYR',
      subject_public_keys: foreignSovereign('ZEPHYR').publicKey,
      roles: 'role:client',
    })
    const treaty = await send('treaty-issue')
    expect(await get(`/recognition-treaties/${String(treaty['treaty_id'])}`)).toMatchObject({ status: 'active' })
    await write('treaty-revoke', { treaty_id: String(treaty['treaty_id']), reason: 'over' })
    const forecast = await page.textContent(`${card('treaty-revoke')} [data-forecast]`)
    expect(forecast).toContain(`${NETWORK} → ZEPHYR`)
    expect(forecast).toContain('No other treaty in force joins the two directly.')
    expect(await send('treaty-revoke')).toMatchObject({ status: 'revoked' })
  })

  it('attests a member, then withdraws it', async () => {
    await write('attestation-issue', { subject_id: 'member-1', roles: 'role:client' })
    const attestation = await send('attestation-issue')
    await write('attestation-revoke', { attestation_id: String(attestation['attestation_id']) })
    expect(await send('attestation-revoke')).toMatchObject({ status: 'revoked' })
  })

  it('publishes a boundary policy after showing what is wrong with it, and activates it', async () => {
    const gate = {
      gate_id: 'limit',
      gate_type: 'max_value.v1',
      order: 0,
      config: { path: 'request_parameters.amount', max: 1000 },
    }
    const intent = {
      policy_id: 'spending',
      valid_from: '2020-01-01T00:00:00Z',
      valid_until: '2090-01-01T00:00:00Z',
      gates: [gate],
    }
    await write('policy-publish', { intent: JSON.stringify({ ...intent, gates: [] }) })
    expect(await page.textContent(`${card('policy-publish')} .review`)).toContain('It would be refused')
    await page.fill('#policy-publish-intent', JSON.stringify(intent))
    await page.click(`${card('policy-publish')} form > button`)
    await page.waitForSelector(`${card('policy-publish')} [data-forecast]:has-text("version 1")`)
    expect(await send('policy-publish')).toMatchObject({ policy_id: 'spending', version: 1 })
    await write('policy-activate', { policy_id: 'spending', version: '1' })
    expect(await send('policy-activate')).toMatchObject({ active: true })
    const shown = (await get('/dashboard.json'))['boundary_policies'] as { active: JsonObject[] }
    expect(shown.active).toMatchObject([{ policy_id: 'spending', version: 1 }])
  })

  it('finds decisions and checks their chain in the browser, where a changed line shows', async () => {
    for (const amount of [10, 20, 30]) {
      const { attestation_id } = accepted(
        await na.as('privileged')('POST', '/admin/attestations', { subject_id: `m-${amount}`, roles: ['role:client'] }),
        201,
      )
      const request = {
        attestation_id: attestation_id ?? '',
        requested_capability: 'pay.invoice',
        context: { request_parameters: { amount } },
      }
      accepted(await na.as('privileged')('POST', '/admin/boundary/evaluate', request), 201)
    }
    await page.fill('#evidence-capability', 'pay.invoice')
    await page.click('[data-evidence] >> text=Search')
    await page.waitForSelector('[data-evidence] li:has-text("pay.invoice")')
    await page.click('text=Verify the chain here')
    await page.waitForSelector('[data-chain="holds"]')
    expect(await page.textContent('[data-chain]')).toContain('3 decisions')
    await screenshot(page, 'operator-evidence-1440-light')
    await page.route('**/admin/evidence/export*', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, body: (await answer.text()).replace('pay.invoice', 'pay.invoicE') })
    })
    await page.click('text=Verify the chain here')
    await page.waitForSelector('[data-chain="broken"]')
  })
})
