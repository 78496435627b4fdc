import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { checkScreens } from './check-screens.ts'
import type { ConsolePage } from './frame-setup.ts'
import { useFrame } from './use-frame.ts'

/** Holds: nodes are exported as CSV and JSON lines, a node page shows its dry run, and Space opens a drawer. */
let own: ConsolePage
useFrame((page) => {
  own = page
})

const saved = async (button: string): Promise<string> => {
  const [download] = await Promise.all([own.page.waitForEvent('download'), own.page.click(button)])
  return readFile(await download.path(), 'utf8')
}

const RUN = '[data-run-export]'
const SECOND = JSON.stringify({
  nodes: [{ node_public_key: 'second', roles: [], capabilities: [] }],
  next_cursor: null,
})

it('exports the page as CSV, and all nodes as JSON lines, with a separate name for each', async () => {
  await own.unlock('/operator/nodes')
  await own.page.waitForSelector('tbody a.name')
  await own.page.click('a:has-text("Export nodes…")')
  await own.page.waitForSelector(`${RUN}:text-is("Export 3 nodes of this page as CSV")`)
  await checkScreens(own.page, 'nodes-export')
  const csv = await saved(RUN)
  expect(csv.split('\r\n')).toHaveLength(5)
  expect(csv).toMatch(/^label,node_public_key,/)
  await own.page.click('button:has-text("All that match the filters")')
  await own.page.click('button:has-text("JSON lines, for a program")')
  await own.page.waitForSelector(`${RUN}:text-is("Export all nodes that match as JSON lines")`)
  const lines = (await saved(RUN)).trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { readonly state: string }).state)).toHaveLength(3)
  await own.page.waitForSelector('[data-export="done"]:has-text("3 nodes are in nodes.jsonl.")')
  expect(own.trouble).toEqual([])
})

it('goes on with the export after a failed read, without a row twice', async () => {
  await own.unlock('/operator/nodes')
  await own.page.waitForSelector('tbody a.name')
  const whole = await own.page.locator('tbody tr').count()
  let reads = 0
  // The authority has one page: it is served as two, and the second read fails once.
  await own.page.route(/[/]admin[/]nodes[?].*limit=100/, async (route) => {
    reads += 1
    if (reads === 2) return route.fulfill({ status: 503, body: '{}' })
    if (route.request().url().includes('cursor='))
      return route.fulfill({ status: 200, contentType: 'application/json', body: SECOND })
    const response = await route.fetch()
    const page = JSON.parse(await response.text()) as { nodes: unknown[] }
    return route.fulfill({ response, body: JSON.stringify({ ...page, next_cursor: 'more' }) })
  })
  await own.page.click('a:has-text("Export nodes…")')
  await own.page.click('button:has-text("All that match the filters")')
  await own.page.click('button:has-text("JSON lines, for a program")')
  await own.page.click(RUN)
  await own.page.waitForSelector(`[data-drawer="export"] [role="alert"]`)
  await own.page.waitForSelector(`${RUN}:text-is("Go on after 3 nodes")`)
  const lines = (await saved(RUN)).trimEnd().split('\n')
  expect(lines).toHaveLength(whole + 1)
  expect(new Set(lines).size).toBe(lines.length)
  expect(reads).toBe(3)
})

it('shows on the page of a node what a revocation would end, and that no list names it', async () => {
  await own.unlock('/operator/nodes')
  await own.page.click('tbody a.name')
  await own.page.waitForSelector('[data-if-revoked="done"]:has-text("1 certificate ends.")')
  await own.page.waitForSelector('[data-listed="no"]:has-text("verified in this browser")')
  expect(own.trouble).toEqual([])
})

it('opens an audit event with Space, and not a node', async () => {
  await own.unlock('/operator/audit')
  await own.page.waitForSelector('tbody tr.opens')
  await own.page.keyboard.press('j')
  await own.page.waitForSelector('tr.at')
  await own.page.keyboard.press(' ')
  await own.page.waitForSelector('[data-drawer="event"]')
  await own.unlock('/operator/nodes')
  await own.page.waitForSelector('tbody a.name')
  await own.page.keyboard.press('j')
  await own.page.waitForSelector('tr.at')
  await own.page.keyboard.press(' ')
  expect(new URL(own.page.url()).pathname).toBe('/operator/nodes')
})
