import { writeSortable } from '@chancery/protocol'
import { type TestAuthority, seedTreaties } from '@chancery/testkit'
import type { Browser } from 'playwright-core'
import { openPage, visit } from './browser.ts'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'

/** Texts that run as script in a page that does not escape them. */
export const FRAMES: readonly ((call: string) => string)[] = [
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

export function payload(i: number): string {
  const frame = FRAMES[i % FRAMES.length]
  return `${frame?.(`window.ran=${i}`) ?? ''}#${i}`
}

export const SAFE_NETWORK = 'SAFE-NET'

/**
 * Writes the payloads into every displayed field that other parties can write: treaties, revocations, feeds, events.
 */
export async function seedPayloads(na: TestAuthority, count: number, first = 0): Promise<void> {
  const { database, clock } = na.core
  const numbers = Array.from({ length: count }, (_, i) => first + i)
  await seedTreaties(
    na.parts,
    numbers.map((i) => ({
      treaty_id: `id-${payload(i)}`,
      from: i % 2 === 0 ? SAFE_NETWORK : `from-${payload(i)}`,
      to: `to-${payload(i)}`,
      ...((i - first) % 3 === 0 ? { revokedBecause: `because-${payload(i)}` } : {}),
    })),
  )
  const imported_at = writeSortable(clock.now())
  const feed = (i: number) => ({ issuer_sovereign_id: `to-${payload(i)}`, feed_id: `feed-${payload(i)}`, sequence: 1 })
  for (let at = 0; at < count; at += 500) {
    const some = numbers.slice(at, at + 500)
    await rowsOf(database)
      .insertInto('imported_sovereign_revocations')
      .values(some.map((i) => ({ ...feed(i), attestation_id: `a-${payload(i)}`, reason: payload(i), imported_at })))
      .execute()
    await rowsOf(database)
      .insertInto('sovereign_revocation_feeds')
      .values(some.map((i) => ({ ...feed(i), feed_json: '{}', revoked_count: 1, imported_at })))
      .execute()
  }
  // Ending every third treaty also writes them to the audit events of the overview.
  for (let i = 0; i < 8; i += 1)
    await na.as('privileged')(
      'POST',
      `/admin/recognition-treaties/${encodeURIComponent(`id-${payload(numbers[i * 3 + 1] ?? 0)}`)}/revoke`,
      { reason: payload(first + i) },
    )
}

const PER_PAGE = 100

/** Opens every page, with searches that show all payloads. Returns what ran, was reported or failed. */
export async function visitPayloads(
  na: TestAuthority,
  browser: Browser,
  count: number,
  first = 0,
): Promise<readonly string[]> {
  const checkedPage = await openPage(browser, na.url)
  const { page } = checkedPage
  await page.addInitScript(
    "window.reports = []; document.addEventListener('securitypolicyviolation', (event) => window.reports.push(event.violatedDirective))",
  )
  const addresses = ['/', '/connectome', '/atlas', '/api-reference', '/cli-reference', '/operator']
  for (let i = 0; i < count; i += PER_PAGE) {
    const words = encodeURIComponent(payload(first + i))
    addresses.push(`/connectome?q=${words}&from=${words}&to=${words}`, `/atlas?q=${words}`)
  }
  // A page shows 500 treaties and 100 revocations. Searches by the first digits of their numbers show all of them.
  const hundreds = new Set(Array.from({ length: count }, (_, i) => Math.floor((first + i) / PER_PAGE)))
  for (const digits of hundreds) addresses.push(`/connectome?q=${encodeURIComponent(`=${digits === 0 ? '' : digits}`)}`)
  const problems: string[] = []
  for (const address of addresses) {
    await visit(checkedPage, na.url + address)
    const found = JSON.stringify(await page.evaluate('[window.ran ?? null, window.reports]'))
    if (found !== '[null,[]]') problems.push(`${address}: ${found}`)
  }
  problems.push(...checkedPage.trouble)
  await checkedPage.close()
  return problems
}
