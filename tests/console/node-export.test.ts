import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
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

it('exports the page as CSV, and all nodes as JSON lines', async () => {
  await own.unlock('/operator/nodes')
  await own.page.waitForSelector('tbody a.name')
  await own.page.click('a:has-text("Export…")')
  const csv = await saved('section:has-text("CSV") button:has-text("This page, 3 rows")')
  expect(csv.split('\r\n')).toHaveLength(5)
  expect(csv).toMatch(/^label,node_public_key,/)
  const lines = (await saved('section:has-text("JSON lines") button:has-text("All that match")')).trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { readonly state: string }).state)).toHaveLength(3)
  expect(own.trouble).toEqual([])
})

it('shows on the page of a node what a revocation would end, and that no list names it', async () => {
  await own.unlock('/operator/nodes')
  await own.page.click('tbody a.name')
  await own.page.waitForSelector('[data-if-revoked="done"]:has-text("1 certificate ends.")')
  await own.page.waitForSelector('dt:has-text("In list #")')
  expect(own.trouble).toEqual([])
})

it('opens an audit event with Space, and not a node', async () => {
  await own.unlock('/operator/audit')
  await own.page.waitForSelector('tbody tr')
  await own.page.keyboard.press('j')
  await own.page.keyboard.press(' ')
  await own.page.waitForSelector('[data-drawer="event"]')
  await own.unlock('/operator/nodes')
  await own.page.waitForSelector('tbody a.name')
  await own.page.keyboard.press('j')
  await own.page.keyboard.press(' ')
  expect(new URL(own.page.url()).pathname).toBe('/operator/nodes')
})
