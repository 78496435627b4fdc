import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { OPERATOR_PAGE_HEADERS } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { visit } from './browser.ts'
import { checkScreens } from './check-screens.ts'
import type { ConsolePage, FrameSetup } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'
import { signIn } from './operator-page.ts'

const BUILT = join(import.meta.dirname, '..', '..', 'apps', 'authority', 'dist', 'console', 'operator')
const SOURCE = join(import.meta.dirname, '..', '..', 'apps', 'console', 'src', 'operator')
const PAGES = ['/operator', '/operator/nodes', '/operator/keys', '/operator/help'] as const

let setup: FrameSetup
let own: ConsolePage
let page: Page
useFrame((opened, shared) => {
  setup = shared
  own = opened
  page = opened.page
})

describe('the frame', () => {
  it('has the strict headers at every depth, and its files may be cached permanently', async () => {
    for (const path of ['/operator', '/operator/nodes', '/operator/a/b/c']) {
      const { status, headers, text } = await setup.na.request('GET', path)
      expect(status).toBe(200)
      for (const [name, value] of Object.entries(OPERATOR_PAGE_HEADERS))
        expect(headers[name.toLowerCase()], name).toBe(value)
      const [, script = ''] = /src="([^"]+\.js)"/.exec(text) ?? []
      const plain = await setup.na.request('GET', script)
      const packed = await setup.na.request('GET', script, { headers: { 'Accept-Encoding': 'gzip' } })
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([undefined, 'gzip'])
      expect(packed.headers['vary']).toBe('Accept-Encoding')
    }
    expect((await setup.na.request('GET', '/operator-console-static/operator/manifest.json')).status).toBe(404)
    expect((await setup.na.request('GET', '/operator-console-static/operator/..%2Fconsole.js')).status).toBe(404)
  })

  it('has no function that turns text into markup or script in its files', async () => {
    const names = (await readdir(BUILT)).filter((name) => name.endsWith('.js'))
    expect(names.length).toBeGreaterThan(4)
    for (const name of names) {
      const text = await readFile(join(BUILT, name), 'utf8')
      expect(gunzipSync(await readFile(join(BUILT, `${name}.gz`))).toString('utf8')).toBe(text)
      expect(text, name).not.toMatch(
        /insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|outerHTML\s*=|srcdoc|setTimeout\(["'`]/,
      )
      // preact reads one property of this name; no component of the console sets it.
      expect(text.match(/dangerouslySetInnerHTML\s*[:=]\s*\{/g), name).toBeNull()
    }
  })

  it('lets only the payload of the review use the key', async () => {
    const names = (await readdir(SOURCE, { recursive: true })).filter((name) => /(?<!\.test)\.tsx?$/.test(name))
    const texts = await Promise.all(
      names.map(async (name) => [name, await readFile(join(SOURCE, name), 'utf8')] as const),
    )
    const users = texts.filter(([, text]) => /\bopenSigner\b|\.sign\(/.test(text)).map(([name]) => name)
    expect(users.toSorted()).toEqual(['key.ts', 'signing/payload.ts'])
  })

  it('keeps the key during 20 moves between pages, without loading a document', async () => {
    await own.unlock('/operator')
    let documents = 0
    page.on('request', (request) => (documents += request.isNavigationRequest() ? 1 : 0))
    for (let i = 0; i < 20; i += 1) {
      const path = PAGES[i % PAGES.length] ?? ''
      await page.click(`.side a[href="${path}"]:not(.whose)`)
      await page.waitForSelector(`.side .nav a[href="${path}"][aria-current]`)
      expect(await page.locator('.keychip').count()).toBe(1)
    }
    await page.goBack()
    await page.waitForSelector('.keychip')
    expect(documents).toBe(0)
    expect(own.trouble).toEqual([])
  })

  it('locks with g l, in other windows too, and removes what was read', async () => {
    await own.unlock('/operator/nodes')
    const other = await page.context().newPage()
    await other.goto(`${setup.na.url}/operator/nodes`)
    await signIn(other, setup.keyFile)
    await other.waitForSelector('tbody .name')
    await page.waitForSelector('tbody .name')
    await page.keyboard.press('g')
    await page.keyboard.press('l')
    for (const each of [page, other]) {
      await each.waitForSelector('#key-file')
      expect(await each.locator('tbody').count()).toBe(0)
    }
    expect(new URL(page.url()).pathname).toBe('/operator/nodes')
  })

  it('locks after 5 minutes in a hidden window', async () => {
    await page.clock.install()
    await own.unlock('/operator/nodes')
    await page.evaluate(
      "Object.defineProperty(document, 'hidden', { configurable: true, value: true }); document.dispatchEvent(new Event('visibilitychange'))",
    )
    await page.clock.fastForward('04:00')
    expect(await page.locator('.keychip').count()).toBe(1)
    await page.clock.fastForward('02:00')
    await page.waitForSelector('text=The key was removed after 5 minutes in a hidden window.')
  })

  it('stops when the network has another genesis block', async () => {
    await own.unlock('/operator')
    await page.evaluate(
      "localStorage.setItem('chancery.pin', JSON.stringify({ ...JSON.parse(localStorage.getItem('chancery.pin')), fingerprint: 'sha256:00', rootKey: 'other' }))",
    )
    await page.reload()
    await page.waitForSelector('[data-pin=changed]')
    expect(await page.locator('#key-file').count()).toBe(0)
    expect(await page.isDisabled('text=Accept the new network')).toBe(true)
  })
})

describe('a list', () => {
  it('has its filters in the address, and the back button restores them', async () => {
    await own.unlock('/operator/nodes?state=revoked')
    await page.waitForSelector('text=Nothing matches')
    await page.click('.tabs >> text=All')
    await page.waitForSelector('tbody .name')
    expect(await page.locator('tbody tr').count()).toBe(3)
    await page.goBack()
    await page.waitForSelector('text=Nothing matches')
    expect(new URL(page.url()).search).toBe('?state=revoked')
  })

  it('pages with cursors', async () => {
    await page.addInitScript("localStorage.setItem('chancery.rows', '25')")
    await page.route('**/admin/nodes?limit=25', async (route) => {
      const response = await route.fetch()
      const body = (await response.json()) as JsonObject
      await route.fulfill({ response, json: { ...body, next_cursor: 'c2' } })
    })
    await page.route('**/admin/nodes?limit=25&cursor=c2', (route) =>
      route.fulfill({ json: { nodes: [], count: 0, counts: null, next_cursor: null } }),
    )
    await own.unlock('/operator/nodes')
    await page.waitForSelector('tbody .name')
    await page.click('.pager >> text=Next')
    await page.waitForSelector('text=No more rows')
    await page.click('.pager >> text=Back')
    await page.waitForSelector('tbody .name')
  })

  it('stays with its time when the authority does not respond', async () => {
    await page.clock.install()
    // An open stream would show that the authority responds, and the list would be read every 60 seconds only.
    await page.route('**/admin/changes**', (route) => route.abort())
    await own.unlock('/operator/nodes')
    await page.waitForSelector('tbody .name')
    await page.route('**/admin/nodes**', (route) => route.abort())
    await page.clock.runFor(16_000)
    await page.waitForSelector('text=The authority does not respond.')
    expect(await page.locator('tbody tr').count()).toBe(3)
  })
})

describe('the keyboard', () => {
  it('opens pages, the palette, the search and the main action', async () => {
    await own.unlock('/operator')
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    await page.waitForSelector('tbody .name')
    await page.keyboard.press('j')
    await page.waitForSelector('tr.at')
    await page.keyboard.press('/')
    await page.waitForSelector('[data-search]:focus')
    await page.keyboard.press('Tab')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('e')
    await page.waitForSelector('[data-drawer=invite][open]')
    await page.keyboard.press('Escape')
    await page.waitForSelector('[data-drawer=invite]', { state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.waitForSelector('.palette input:focus')
    await page.keyboard.type('help')
    await page.keyboard.press('Enter')
    await page.waitForSelector('text=Messages since you unlocked')
    await page.uncheck('.panel input[type=checkbox]')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    expect(new URL(page.url()).pathname).toBe('/operator/help')
  })
})

it('says that a page cannot be shown when a record has an unknown form', async () => {
  await page.route('**/admin/agents?*', (route) => route.fulfill({ json: { agents: [{ descriptor: {} }], total: 1 } }))
  await own.unlock('/operator/agents')
  await page.waitForSelector('text=This page cannot be shown')
  await page.unroute('**/admin/agents?*')
  await page.click('.side >> text=Nodes')
  await page.waitForSelector('.bar h1:has-text("Nodes")')
})

it('has no findings on any page and drawer, on every screen', async () => {
  await own.unlock('/operator')
  for (const path of [...PAGES, '/operator/nodes?do=invite', '/operator/nothing']) {
    await visit(own, setup.na.url + path)
    await signIn(page, setup.keyFile)
    await page.waitForSelector('.bar h1')
    if (path.includes('do=')) {
      await page.waitForSelector('[data-effects=ready]')
      const button = await page.locator('[data-sign]').boundingBox()
      expect((button?.y ?? 900) + (button?.height ?? 0)).toBeLessThanOrEqual(900)
    }
    await expect.poll(() => page.locator('[aria-busy=true]').count(), { timeout: 30_000 }).toBe(0)
    await checkScreens(page, `frame-${path.replaceAll(/\W+/g, '-')}`)
  }
  expect(own.trouble).toEqual([])
})
