import { type JsonObject, readJson, verifyOperatorRequest } from '@chancery/protocol'
import { accepted, enroll, nodeCaller, testSigner } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { keyToPath } from '../../apps/console/src/operator/node-key.ts'
import type { ConsolePage, FrameSetup } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'
import { signIn } from './operator-page.ts'

let setup: FrameSetup
let own: ConsolePage
let page: Page
useFrame((opened, shared) => {
  setup = shared
  own = opened
  page = opened.page
})

describe('the drawer', () => {
  const open = async (): Promise<void> => {
    await own.unlock('/operator/nodes?do=invite')
    await page.waitForSelector('[data-effects=ready]')
  }
  const shownText = async (): Promise<JsonObject> =>
    readJson((await page.textContent('[data-signed] pre')) ?? '') as JsonObject

  it('signs the bytes that it shows', async () => {
    await open()
    await page.fill('#field-label', 'Berlin 3')
    await page.waitForSelector('[data-signed] pre:has-text("Berlin 3")', { state: 'attached' })
    const shown = await shownText()
    const [request] = await Promise.all([
      page.waitForRequest((each) => each.method() === 'POST' && each.url().endsWith('/admin/invite')),
      page.click('[data-sign]'),
    ])
    const headers = await request.allHeaders()
    const { v: _version, ...covered } = shown
    expect(readJson(request.postData() ?? '')).toEqual(shown['body'])
    const isSigned = await verifyOperatorRequest(
      covered as unknown as Parameters<typeof verifyOperatorRequest>[0],
      headers['x-admin-signature'] ?? '',
      (await testSigner('op', 'op-privileged')).publicKey,
    )
    expect(isSigned).toBe(true)
    await page.waitForSelector('[data-token]')
    const token = (await page.textContent('[data-token]')) ?? ''
    expect(token.length).toBeGreaterThan(20)
    expect(await page.textContent('[data-command]')).toMatch(/^chancery join .*--genesis sha256:[0-9a-f]{64} /)
    // Closing asks once, because the token was neither copied nor saved.
    await page.click('text=Done')
    await page.click('text=Close without the token')
    expect(await page.content()).not.toContain(token)
  })

  it('removes the signed text at an edit, and makes another one', async () => {
    await open()
    const before = await shownText()
    await page.fill('#field-token_expiry_hours', '0')
    expect(await page.locator('[data-signed] pre').count()).toBe(0)
    expect(await page.getAttribute('[data-sign]', 'aria-disabled')).toBe('true')
    await page.waitForSelector('text=a whole number from 1 to 720')
    await page.fill('#field-token_expiry_hours', '48')
    await page.waitForSelector('[data-signed] pre', { state: 'attached' })
    const after = await shownText()
    expect(after['nonce']).not.toBe(before['nonce'])
    expect(after['body']).toMatchObject({ token_expiry_hours: 48 })
  })

  it('drops the dry run of former values when a field changed while it was under way', async () => {
    const node = nodeCaller(setup.na.url, await testSigner('n', 'race'), () => setup.na.core.clock.now())
    for (let i = 0; i < 2; i += 1) await enroll(setup.na, node)
    // The page of the node also asks for a dry run.
    await own.unlock(`/operator/nodes/${keyToPath(node.key)}`)
    await page.waitForSelector('[data-if-revoked="done"]')
    const waiting: (() => void)[] = []
    await page.route('**/admin/revoke', async (route) => {
      await new Promise<void>((go) => waiting.push(go))
      await route.continue()
    })
    await page.click('a[href$="do=revoke"]')
    await page.waitForSelector('[data-effects]')
    await expect.poll(() => waiting.length, { timeout: 30_000 }).toBe(1)
    // Every text that the drawer shows from now on.
    await page.evaluate(`(() => {
      window.shown = []
      const effects = document.querySelector('[data-effects]')
      const note = () => window.shown.push(effects.getAttribute('data-effects') + effects.textContent)
      new MutationObserver(note).observe(effects, { subtree: true, childList: true, characterData: true, attributes: true })
    })()`)
    await page.selectOption('#field-ends', 'one')
    const late = page.waitForResponse((each) => each.url().endsWith('/admin/revoke'))
    waiting[0]?.()
    await late
    await expect.poll(() => waiting.length, { timeout: 30_000 }).toBe(2)
    expect(await page.getAttribute('[data-effects]', 'data-effects')).toBe('waiting')
    expect(await page.getAttribute('[data-sign]', 'aria-disabled')).toBe('true')
    waiting[1]?.()
    await page.waitForSelector('[data-effects=ready]:has-text("1 certificate of the same key stays valid")')
    expect((await page.evaluate<string[]>('window.shown')).join('\n')).not.toContain('2 certificates end')
    expect((await shownText())['body']).toEqual({
      cert_id: expect.any(String),
      reason: 'cessation_of_operation',
      only_this: true,
    })
  })

  it('has one effect when the response was lost', async () => {
    const count = async (): Promise<unknown> =>
      accepted(await setup.na.as('privileged')('GET', '/admin/invites'))['count']
    const before = Number(await count())
    await open()
    let lost = 0
    await page.route('**/admin/invite', async (route) => {
      lost += 1
      if (lost > 1) return route.continue()
      await route.fetch()
      return route.abort()
    })
    await page.click('[data-sign]')
    await page.waitForSelector('[data-outcome=unknown]:has-text("No usable response came.")')
    // Another body would be another request, which could have a second effect.
    await page.fill('#field-label', 'Other')
    await expect.poll(() => page.inputValue('#field-label')).toBe('')
    await page.waitForSelector('[data-outcome=unknown]')
    await page.click('[data-sign]')
    // The authority does not send a token twice.
    await page.waitForSelector('[data-code=conflict]')
    await page.waitForSelector('[data-outcome=may-have-happened]:has-text("The first attempt may have happened.")')
    expect(Number(await count())).toBe(before + 1)
  })

  it('keeps its fields when the key is removed, and nothing else', async () => {
    await open()
    await page.fill('#field-label', 'Hamburg 1')
    await page.evaluate("new BroadcastChannel('chancery-console').postMessage('locked')")
    await page.waitForSelector('#key-file')
    await signIn(page, setup.keyFile)
    await page.waitForSelector('[data-effects=ready]')
    expect(await page.inputValue('#field-label')).toBe('Hamburg 1')
  })
})
