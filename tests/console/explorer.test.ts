// oxlint-disable max-lines -- one browser and one gateway for all pages
import { type JsonObject, signOperatorRequest, toBase64 } from '@chancery/protocol'
import { accepted, enroll, nodeCaller, testSeed, testSigner } from '@chancery/testkit'
import type { Browser, Page, Request } from 'playwright-core'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  axeFindings,
  closePages,
  isChosenScreen,
  nextFrames,
  openPage,
  screenshot,
  sharedBrowser,
  visit,
} from './browser.ts'
import type { CheckedPage } from './browser.ts'
import { type MeshSetup, startMeshSetup } from './mesh-setup.ts'

let setup: MeshSetup
let browser: Browser
/** A join certificate as its node has it. */
let certificate: string
let checkedPage: CheckedPage
let page: Page
beforeAll(async () => {
  ;[setup, browser] = await Promise.all([startMeshSetup(), sharedBrowser()])
  const { aurora } = setup
  const node = nodeCaller(aurora.url, await testSigner('n', 'explorer'), () => aurora.core.clock.now())
  certificate = JSON.stringify(await enroll(aurora, node))
})
afterAll(async () => {
  await closePages(browser)
  await setup.stop()
})

async function open(options: Parameters<typeof openPage>[2] = {}): Promise<void> {
  checkedPage = await openPage(browser, setup.gateway.url, { reducedMotion: 'reduce', ...options })
  page = checkedPage.page
}
async function enterToken(token: string): Promise<void> {
  await page.fill('#token', token)
  await page.press('#token', 'Enter')
  await page.waitForSelector('[data-client], .credential [role=alert]')
}
const go = (hash: string): Promise<unknown> => page.evaluate(`location.hash = '${hash}'`)
const operatorPage = (id: string): Promise<unknown> =>
  go(`/explorer/${id}`).then(() => page.waitForSelector(`[data-operation="${id}"]`))
async function useKey(name: string, seed = testSeed(name)): Promise<void> {
  await page.fill('#key-id', name)
  await page.fill('#seed', seed)
  await page.click('text=Use this key here')
  await page.waitForSelector('text=key in this page')
}
async function signAndSend(): Promise<string> {
  await page.click('text=Review what will be signed')
  await page.click('text=Sign and send')
  return answered()
}
async function answered(): Promise<string> {
  await page.waitForSelector('.answer')
  return (await page.textContent('.answer pre')) ?? ''
}
/** Chromium requests the icon when the title changes. */
const isCall = (request: Request): boolean => !request.url().endsWith('/favicon.svg')
/** The browser itself logs refused responses. It must log nothing else. */
const trouble = (): readonly string[] => checkedPage.trouble.filter((text) => !/status of [45]\d\d/.test(text))

/** The maximum of 16 published networks. Some do not respond, and some treaties end within a week. */
function fullMesh(): JsonObject {
  const now = Date.now()
  const at = (hours: number): string => new Date(now + hours * 3_600_000).toISOString()
  const ids = Array.from({ length: 16 }, (_, i) => `network-${String(i).padStart(2, '0')}`)
  const pairs = ids.flatMap((from, i) => [1, 5].map((step) => [from, ids[(i + step) % 16] ?? ''] as const))
  const roles = ['role:client']
  return {
    observed_at: at(0),
    refresh_seconds: 20,
    networks: ids.map((id, i) => ({
      id,
      available: i % 5 !== 3,
      trust_ready: i % 7 !== 4,
      crl_sequence: i,
      source_feed: null,
      imports_available: false,
      member_count: i % 9,
      members_truncated: false,
      links_truncated: false,
      imports: [],
    })),
    links: pairs.map(([from, to], i) => ({
      id: `treaty-${i}`,
      from,
      to,
      roles,
      issued_at: at(-1),
      expires_at: at(i % 4 === 0 ? 24 : 700),
    })),
    members: ids.flatMap((network, i) =>
      Array.from({ length: i % 9 }, (_, j) => {
        const id = `${network}-member-${j}`
        return { id, network, subject: id, roles, issued_at: at(-1), expires_at: at(700), demo: j === 0 }
      }),
    ),
    synchronization: [],
    network_limit: 16,
    member_limit_per_network: 64,
    link_limit_per_network: 256,
  }
}

const SCREENS = [
  [1440, 'light'],
  [1440, 'dark'],
  [360, 'light'],
  [360, 'dark'],
] as const

describe.each(SCREENS.filter(([width, scheme]) => isChosenScreen(width, scheme)))(
  'at %i px, %s',
  (width, colorScheme) => {
    it('every page has no errors, fits the screen and is accessible', async () => {
      await open({ viewport: { width, height: 900 }, colorScheme })
      await visit(checkedPage, setup.gateway.url)
      await page.waitForSelector('[data-ready="true"]')
      const read = async (name: string): Promise<void> => {
        await screenshot(page, `explorer-${name}-${width}-${colorScheme}`)
        expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(width)
        expect(await axeFindings(page), name).toEqual([])
      }
      // A protection that is off is a warning, never only a green word.
      expect(await page.getAttribute('[data-ready]', 'data-tone')).toBe('watch')
      expect(await page.textContent('.headline')).toMatch(/^Ready, with \d+ warnings$/)
      for (const name of ['audit_delivery', 'shared_quotas', 'mtls'])
        expect(await page.locator(`[data-warning="${name}"]`).count(), name).toBe(1)
      expect(await page.locator('[data-warning="durable_audit"]').count()).toBe(0)
      await read('overview')
      await go('/mesh')
      await page.click('[data-domain="AURORA-NET"]')
      await page.waitForSelector('.inspector h2')
      await read('mesh')
      await go('/networks')
      await enterToken(setup.operator.token)
      await page.waitForSelector('[data-network="AURORA-NET"]')
      await read('networks')
      await go('/federation')
      await page.waitForSelector('#accepting')
      await read('federation')
      await go('/explorer')
      await page.waitForSelector('[data-found]:not([data-found="0"])')
      await read('catalogue')
      await operatorPage('treaties-issue-treaty')
      await useKey('op-privileged')
      await page.click('text=Review what will be signed')
      await page.waitForSelector('.review')
      await read('review')
      await operatorPage('public-get-policy')
      await page.click('text=Send GET')
      await answered()
      await read('answer')
      await page.click('[data-follow]')
      await page.waitForSelector('[data-steps="3"]')
      await read('request')
      await go('/certificate')
      await page.fill('#certificate', certificate)
      await page.click('#content form button')
      await page.waitForSelector('[data-trusted="true"]')
      await read('certificate')
      // Another text has no result yet.
      await page.fill('#certificate', certificate.replace('AURORA-NET', 'AURORA-NOT'))
      expect(await page.locator('[data-trusted]').count()).toBe(0)
      await page.route('**/v1/mesh', (route) => route.fulfill({ json: fullMesh() }))
      await go('/mesh')
      await page.waitForSelector('[data-domain="network-15"]')
      await read('full-mesh')
      expect(checkedPage.trouble).toEqual([])
      await checkedPage.close()
    })
  },
)

describe('the page', () => {
  it('loads at most 300 KiB, compressed by a proxy, and only from this gateway', async () => {
    const paths = ['/', '/assets/explorer.js', '/assets/styles.css', '/assets/logo.svg', '/assets/favicon.svg']
    const responses = await Promise.all(paths.map((path) => setup.gateway.request('GET', path)))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const files = [...(responses[0]?.text ?? '').matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path = '']) => path)
    expect(files).toEqual(expect.arrayContaining(['/assets/explorer.js', '/assets/styles.css']))
    for (const path of files) expect((await setup.gateway.request('GET', path)).status, path).toBe(200)
    const size = responses.reduce((sum, response) => sum + gzipSync(response.text).length, 0)
    expect(size).toBeLessThan(300 * 1024)
    for (const path of ['/assets/', '/assets/explorer.js.map', '/assets/..%2fsrc%2fmain.ts', '/assets/toString'])
      expect((await setup.gateway.request('GET', path)).status, path).toBe(404)
  })

  it('shows plain links without script', async () => {
    await open({ javaScriptEnabled: false })
    await page.goto(setup.gateway.url)
    expect(await page.textContent('main')).toContain('Operations that can be forwarded')
    await checkedPage.close()
  })
})

describe('a reader', () => {
  beforeEach(async () => {
    await open()
    await visit(checkedPage, setup.gateway.url)
  })
  afterEach(() => checkedPage.close())

  it('browses the mesh with the keyboard only', async () => {
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    await page.focus('.nav a[href="#/mesh"]')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[data-domain]')
    expect(await page.evaluate('document.activeElement.id')).toBe('content')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.dataset.domain')).toBe('AURORA-NET')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.inspector h2')
    const logged = (await page.textContent('.inspector')) ?? ''
    for (const fact of ['BOREALIS-NET, CIRRUS-NET', 'Members (3)', 'ledger', 'payments-1'])
      expect(logged).toContain(fact)
    expect(await page.textContent('main')).toContain('proves nothing about what the partner enforces')
    expect(trouble()).toEqual([])
  })

  it('sees a warning when the mesh is stale', async () => {
    await page.clock.install()
    await go('/mesh')
    await page.waitForSelector('[data-domain]')
    await page.route('**/v1/mesh', (route) => route.abort())
    await page.clock.runFor(31_000)
    await page.waitForSelector('[data-stale]:has-text("did not respond")')
  })

  it('finds operations by words and by group', async () => {
    await go('/explorer')
    await page.waitForSelector('[data-found]:not([data-found="0"])')
    await page.fill('#search', 'treaty revoke')
    await page.waitForSelector('a[href="#/explorer/treaties-revoke-treaty"]')
    await page.fill('#search', '')
    await page.selectOption('#group', 'consensus')
    await page.waitForSelector('[data-found="3"]')
  })

  it('sees an error for a mistyped token, which is not sent, and for a refused token', async () => {
    const asked: string[] = []
    page.on('request', (request) => void (isCall(request) && asked.push(request.url())))
    await enterToken(`gw1_${'a'.repeat(43)}_aaaaaa`)
    expect(await page.textContent('.credential [role=alert]')).toContain('checksum')
    expect(asked.filter((url) => url.endsWith('/v1/networks'))).toEqual([])
    await page.fill('#token', 'a'.repeat(64))
    await page.press('#token', 'Enter')
    await page.waitForSelector('.credential [role=alert]:has-text("refused the token")')
  })

  it('sees what a token may not do, without a request', async () => {
    await enterToken(setup.reader.token)
    const asked: string[] = []
    page.on('request', (request) => void (isCall(request) && asked.push(request.url())))
    await operatorPage('treaties-list-treaties')
    expect(await page.textContent('[data-refused]')).toContain('«treaties»')
    await operatorPage('health-list-nodes')
    expect(await page.textContent('[data-refused]')).toContain('authority_admin')
    expect(await page.isDisabled('.request-form form.try > button')).toBe(true)
    expect(asked).toEqual([])
  })

  it('sees that the quota of the token is used up, and for how long', async () => {
    await enterToken(setup.hasty.token)
    await operatorPage('crl-get-crl')
    for (let i = 0; i < 2; i += 1) {
      await page.click('text=Send GET')
      await page.waitForSelector(`.answer[data-status="${i === 0 ? 200 : 429}"]`)
    }
    expect(await page.textContent('[data-explained="client_quota"]')).toMatch(/Try again in \d+ seconds?\./)
  })
})

/** Records how the page uses keys and which responses it has read, without changing its code. */
const WATCH_PAGE = `
  window.seen = { imports: [], signs: [], texts: [] };
  const { text } = Response.prototype;
  Response.prototype.text = async function () {
    const read = await text.call(this);
    window.seen.texts.push(new URL(this.url).pathname);
    return read;
  };
  const { importKey, sign } = SubtleCrypto.prototype;
  SubtleCrypto.prototype.importKey = function (format, bytes, algorithm, extractable, usages) {
    if (usages.includes('sign')) window.seen.imports.push(bytes);
    return importKey.call(this, format, bytes, algorithm, extractable, usages);
  };
  SubtleCrypto.prototype.sign = function (algorithm, key, data) {
    window.seen.signs.push(key.extractable);
    return sign.call(this, algorithm, key, data);
  };`

describe('an operator', () => {
  const sent: string[] = []
  beforeEach(async () => {
    sent.length = 0
    await open()
    await page.addInitScript(WATCH_PAGE)
    page.on('request', (request) => {
      if (isCall(request)) sent.push(JSON.stringify([request.url(), request.headers(), request.postData()]))
    })
    await visit(checkedPage, setup.gateway.url)
    await enterToken(setup.operator.token)
  })
  afterEach(() => checkedPage.close())

  /** Everywhere a secret could be stored or sent: requests, storage, address, attributes, text. */
  const placesOf = async (secret: string): Promise<readonly string[]> => {
    const saved = await page.evaluate<readonly string[]>(`(async () => [
      JSON.stringify(await indexedDB.databases()), JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }),
      document.cookie, JSON.stringify(await caches.keys()), location.href, JSON.stringify(history.state), document.title,
      document.documentElement.outerHTML, ...[...document.querySelectorAll('input, textarea')].map((field) => field.value),
    ])()`)
    return [...sent, ...saved].filter((text) => text.includes(secret))
  }

  it('prepares a treaty, reviews, signs and sends it, and the seed is only in the key', async () => {
    const seed = testSeed('op-privileged')
    await go('/federation')
    await page.fill('#roles', 'role:client role:auditor')
    await page.fill('#hours', '48')
    const before = sent.length
    await page.click('text=Open in the explorer for review')
    await page.waitForSelector('[data-operation="treaties-issue-treaty"]')
    // Prepared, not sent.
    expect(sent.length).toBe(before)
    await page.fill('#seed', seed)
    // While it is typed, the search finds it in its field and only there.
    expect(await placesOf(seed)).toEqual([seed])
    await useKey('op-privileged')
    await page.click('text=Review what will be signed')
    await page.waitForSelector('.review')
    const shown = (await page.textContent('.review')) ?? ''
    for (const fact of ['POST /admin/recognition-treaties', 'AURORA-NET', 'role:auditor', 'op-privileged'])
      expect(shown).toContain(fact)
    expect(shown).toContain(setup.aurora.genesis.network_authority.public_key)
    await page.click('text=Sign and send')
    const treaty = JSON.parse(await answered()) as JsonObject
    expect(await page.getAttribute('.answer', 'data-status')).toBe('201')
    expect(treaty).toMatchObject({ subject_sovereign_id: 'BOREALIS-NET' })
    const stored = accepted(await setup.aurora.request('GET', `/recognition-treaties/${String(treaty['treaty_id'])}`))
    expect(JSON.stringify(stored)).toContain('role:auditor')
    const ids = (await page.textContent('.answer .facts')) ?? ''
    expect(ids).toMatch(/gateway[0-9a-f]{32}-[0-9a-f]{16}/)

    // Possible spellings of the seed: as typed, without padding, as hex.
    const bytes = Buffer.from(seed, 'base64')
    for (const form of [
      seed,
      seed.replace('=', ''),
      encodeURIComponent(seed),
      bytes.toString('hex'),
      bytes.toString('base64url'),
    ])
      expect(await placesOf(form)).toEqual([])
    // The token is only in the header of its requests.
    const withToken = await placesOf(setup.operator.token)
    expect(withToken.length).toBeGreaterThan(0)
    for (const text of withToken)
      expect((JSON.parse(text) as [string, Record<string, string>, string | null])[1]['authorization']).toBe(
        `Bearer ${setup.operator.token}`,
      )
    for (const text of withToken) expect(text.split(setup.operator.token)).toHaveLength(2)
    const seen = await page.evaluate<{ signs: boolean[]; zeroed: boolean[] }>(
      '({ signs: window.seen.signs, zeroed: window.seen.imports.map((bytes) => new Uint8Array(bytes.buffer ?? bytes).every((byte) => byte === 0)) })',
    )
    expect(seen.signs).toEqual([false])
    expect(seen.zeroed.length).toBeGreaterThan(0)
    expect(seen.zeroed.every(Boolean)).toBe(true)
    expect(trouble()).toEqual([])
  })

  it('never sees a review of an earlier text, and sends the reviewed text', async () => {
    await operatorPage('admin-create-invite')
    await useKey('op-privileged')
    const current: (() => void)[] = []
    await page.route('**/services/public-sovereign-metadata', async (route) => {
      await new Promise<void>((go) => current.push(go))
      await route.continue()
    })
    const write = (role: string): Promise<void> => page.fill('.request-form textarea', `{"roles":["${role}"]}`)
    await write('role:first')
    await page.click('text=Review what will be signed')
    await expect.poll(() => current.length).toBe(1)
    await write('role:second')
    const readTexts = (): Promise<readonly string[]> => page.evaluate('window.seen.texts')
    const before = (await readTexts()).length
    current[0]?.()
    await expect.poll(async () => (await readTexts()).slice(before)).toContainEqual(expect.stringMatching(/metadata$/))
    // What the page does with the text is drawn now.
    await nextFrames(page)
    expect(await page.locator('.review').count()).toBe(0)
    await page.unroute('**/services/public-sovereign-metadata')
    await page.click('text=Review what will be signed')
    expect(await page.textContent('.review pre')).toBe('{"roles":["role:second"]}')
    await page.click('text=Sign and send')
    await answered()
    expect(sent.filter((each) => each.includes('admin-create-invite')).map((each) => JSON.parse(each)[2])).toEqual([
      '{"roles":["role:second"]}',
    ])
  })

  it('loses an idle key, and nothing else', async () => {
    await page.clock.install()
    await visit(checkedPage, setup.gateway.url)
    await enterToken(setup.operator.token)
    await operatorPage('admin-create-invite')
    await useKey('op-privileged')
    await page.click('text=Review what will be signed')
    await page.waitForSelector('.review')
    await page.clock.fastForward('16:00')
    await page.waitForSelector('text=The key was removed after 15 minutes without input.')
    expect(await page.locator('.review').count()).toBe(0)
    expect(await page.locator('[data-client]').count()).toBe(1)
  })

  it('sees characters that hide or reorder text as escapes, everywhere the script shows text', async () => {
    await operatorPage('admin-create-invite')
    await useKey('op\u202eprivileged', testSeed('op-privileged'))
    expect(await page.textContent('.signature strong')).toBe('op\\u202eprivileged')
  })

  it('uses a page in which no text becomes markup or script (Trusted Types)', async () => {
    const attempt = (code: string): Promise<string> =>
      page.evaluate<string>(`(() => { try { ${code}; return 'done' } catch (error) { return error.name } })()`)
    expect(await attempt('document.body.innerHTML = "<b>x</b>"')).toBe('TypeError')
    expect(await attempt('trustedTypes.createPolicy("any", { createHTML: (text) => text })')).toBe('TypeError')
    expect(await attempt('new Worker("/assets/explorer.js")')).toBe('TypeError')
  })

  it('loses the key when the network changes, and everything when the token changes', async () => {
    await operatorPage('health-list-nodes')
    await useKey('op-standard')
    expect(JSON.parse(await signAndSend())).toMatchObject({ nodes: {} })
    await page.selectOption('#network', 'BOREALIS-NET')
    await page.waitForSelector('#seed')
    await useKey('op-standard')
    await page.click('text=Sign out')
    await page.waitForSelector('#token')
    expect(await page.locator('.answer, .review').count()).toBe(0)
    expect(await page.locator('text=key in this page').count()).toBe(0)
    await enterToken(setup.operator.token)
    await page.waitForSelector('#seed')
    expect(await placesOf(testSeed('op-standard'))).toEqual([])
  })

  it.each([
    ['a key of too low a tier', 'op-standard', testSeed('op-standard'), 403, /lacks the tier/],
    ['another seed', 'op-privileged', testSeed('somebody'), 401, /key id, the seed and the clock/],
  ])('sees why %s is refused', async (_what, keyId, seed, status, sentence) => {
    await operatorPage('treaties-issue-treaty')
    await useKey(keyId, seed)
    const body = { subject_sovereign_id: 'X', subject_public_keys: [setup.aurora.genesis.network_authority.public_key] }
    await page.fill('#body', JSON.stringify({ ...body, scope: { allowed_roles: ['role:client'] }, validity_hours: 1 }))
    await signAndSend()
    expect(await page.getAttribute('.answer', 'data-status')).toBe(String(status))
    expect(await page.textContent('[data-explained]')).toMatch(sentence)
  })

  it('signs nothing when the authority reports another key than the pinned one', async () => {
    const other = toBase64(new Uint8Array(32).fill(9))
    await page.route('**/services/public-sovereign-metadata', (route) =>
      route.fulfill({ json: { network_authority: { public_key: other } } }),
    )
    await operatorPage('health-list-nodes')
    await useKey('op-standard')
    await page.click('text=Review what will be signed')
    await page.waitForSelector('.request-form [role=alert]:has-text("another key")')
    expect(await page.evaluate('window.seen.signs')).toEqual([])
    expect(sent.filter((text) => text.toLowerCase().includes('x-admin'))).toEqual([])
  })

  it('pastes headers signed elsewhere, which are refused after the request changes', async () => {
    await operatorPage('admin-create-invite')
    const body = { roles: ['role:client'], max_validity_hours: 24, token_expiry_hours: 24 }
    await page.fill('#body', JSON.stringify(body))
    await page.click('text=Paste signed headers')
    const signer = setup.aurora.signers['privileged']
    if (signer === undefined) throw new Error('no operator')
    const headers = await signOperatorRequest(
      {
        method: 'POST',
        path: '/admin/invite',
        query: {},
        audience: setup.aurora.genesis.network_authority.public_key,
        body,
        timestamp: new Date().toISOString(),
        nonce: crypto.randomUUID(),
      },
      signer,
    )
    const text = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await page.fill('#pasted', text.join('\n'))
    await page.fill('#body', JSON.stringify({ ...body, max_validity_hours: 1 }))
    await page.waitForSelector('[data-outdated]')
    await page.click('text=Send with the pasted headers')
    await page.waitForSelector('.request-form [role=alert]:has-text("Sign the request again")')
    expect(sent.filter((each) => each.includes(headers['X-Admin-Nonce']))).toEqual([])
    await page.fill('#body', JSON.stringify(body))
    await page.click('text=Send with the pasted headers')
    expect(JSON.parse(await answered())).toHaveProperty('token_id')
    // A nonce is valid once, so the same headers are not offered again.
    await page.waitForSelector('[data-spent]')
    await page.click('text=Send with the pasted headers')
    await page.waitForSelector('.request-form [role=alert]:has-text("Paste the four")')
  })

  it('inserts the last response into the next body', async () => {
    await operatorPage('attestations-sovereign-revocation-feed')
    await page.click('text=Send GET')
    const feed = JSON.parse(await answered()) as JsonObject
    await operatorPage('treaties-import-sovereign-revocation-feed')
    await page.selectOption('#insert-member', 'feed')
    await page.click('.insert button')
    expect(JSON.parse(await page.inputValue('#body'))).toMatchObject({ feed })
  })
})
