import { plantTreaties, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser, openPage, visit } from './browser.ts'

/** 200 with every check; CHANCERY_PAYLOADS=5000 for a campaign. */
const COUNT = Number(process.env['CHANCERY_PAYLOADS'] ?? '200')
const PER_PAGE = 100

const FRAMES: readonly ((call: string) => string)[] = [
  (call) => `<script>${call}</script>`,
  (call) => `<img src=x onerror=${call}>`,
  (call) => `"><svg onload=${call}>`,
  (call) => `'><iframe srcdoc="<script>parent.${call}</script>">`,
  (call) => `" autofocus onfocus=${call} x="`,
  (call) => `javascript:${call}`,
  (call) => `</title><script>${call}</script>`,
  (call) => `</script><script>${call}</script>`,
  (call) => `<a href="javascript:${call}">x</a>`,
  (call) => `<style>@import 'javascript:${call}'</style>`,
  (call) => `{{constructor.constructor('${call}')()}}`,
  (call) => `\${${call}}`,
  (call) => `<math><mi xlink:href="data:x,<script>${call}</script>">`,
  (call) => `<details open ontoggle=${call}>`,
  (call) => `<base href="https://evil.example/">${call}`,
  (call) => `<meta http-equiv="refresh" content="0;url=javascript:${call}">`,
  (call) => `&lt;script&gt;${call}&lt;/script&gt;`,
  (call) => `<noscript><p title="</noscript><img src=x onerror=${call}>">`,
  (call) => `<form action="javascript:${call}"><button>go</button></form>`,
  (call) => `\u003cscript\u003e${call}\u003c/script\u003e`,
]

function payload(i: number): string {
  const frame = FRAMES[i % FRAMES.length]
  return `${frame?.(`window.ran=${i}`) ?? ''}#${i}`
}

let na: TestAuthority
let browser: Browser
beforeAll(async () => {
  ;[na, browser] = await Promise.all([startTestAuthority({ network: 'SAFE-NET' }), openBrowser()])
  const treaties = Array.from({ length: COUNT }, (_, i) => ({
    treaty_id: `id-${payload(i)}`,
    from: i % 2 === 0 ? 'SAFE-NET' : `from-${payload(i)}`,
    to: `to-${payload(i)}`,
    ...(i % 3 === 0 ? { revokedBecause: `because-${payload(i)}` } : {}),
  }))
  await plantTreaties(na.office, treaties)
  // In the audit events the overview shows, too.
  for (let i = 0; i < 8; i += 1)
    await na.as('privileged')(
      'POST',
      `/admin/recognition-treaties/${encodeURIComponent(`id-${payload(i * 3 + 1)}`)}/revoke`,
      {
        reason: payload(i),
      },
    )
})
afterAll(async () => {
  await browser.close()
  await na.stop()
})

describe(`${COUNT} script payloads in every displayed field`, () => {
  it('run nowhere, and the content policy has nothing to report', async () => {
    const watched = await openPage(browser, na.url)
    const { page } = watched
    await page.addInitScript(
      "window.reports = []; document.addEventListener('securitypolicyviolation', (event) => window.reports.push(event.violatedDirective))",
    )
    const addresses = ['/', '/connectome', '/atlas']
    for (let i = 0; i < COUNT; i += PER_PAGE) {
      const words = encodeURIComponent(payload(i))
      addresses.push(`/connectome?q=${words}&from=${words}&to=${words}`, `/atlas?q=${words}`)
    }
    for (const address of addresses) {
      await visit(watched, na.url + address)
      expect(await page.evaluate('[window.ran, window.reports]'), address).toEqual([undefined, []])
    }
    expect(watched.trouble).toEqual([])
    await watched.close()
  })

  it('are shown as they are when a paper is opened', async () => {
    const watched = await openPage(browser, na.url, { reducedMotion: 'reduce' })
    const { page } = watched
    for (let i = 0; i < Math.min(COUNT, FRAMES.length); i += 1) {
      await visit(watched, `${na.url}/connectome?q=${encodeURIComponent(`to-${payload(i)}`)}`)
      await page.locator('a[data-treaty]').first().click()
      await page.waitForSelector('.inspector .paper, .inspector [role=alert]')
      expect(await page.textContent('.inspector')).toContain(`to-${payload(i)}`)
      expect(await page.evaluate('window.ran')).toBeUndefined()
    }
    expect(watched.trouble).toEqual([])
    await watched.close()
  })
})
