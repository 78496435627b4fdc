import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { EvidencePack } from '@chancery/sdk/authority'
import { verifyPack, explainPack, writePackPage } from '@chancery/sdk/evidence'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PackScenario } from '../campaigns/evidence/pack-scenario.ts'
import { seededRandom } from '../campaigns/lib/random.ts'
import { type CheckedPage, axeFindings, closePages, openPage, screenshot, sharedBrowser } from './browser.ts'

const TEMPLATE = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'dist', 'evidence-page', 'page.html')

let browser: Browser
let folder: string
let template: string
/** Packs of random histories. Their texts contain markup. */
let packs: readonly EvidencePack[]
beforeAll(async () => {
  browser = await sharedBrowser()
  folder = await mkdtemp(join(tmpdir(), 'chancery-page-'))
  template = await readFile(TEMPLATE, 'utf8')
  const scenario = await PackScenario.open(seededRandom(7))
  try {
    packs = (await scenario.make(6)).map(({ pack }) => pack)
  } finally {
    await scenario.close()
  }
})
afterEach(() => closePages(browser))
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Opens a page from a file, without network. */
async function openFile(html: string, options: Parameters<typeof openPage>[2] = {}): Promise<CheckedPage> {
  const file = join(folder, 'pack.html')
  await writeFile(file, html)
  const url = pathToFileURL(file).href
  const opened = await openPage(browser, url, { ...options, offline: true })
  await opened.page.goto(url)
  return opened
}

const verdict = (state: string): string => `#verdict[data-state="${state}"]`

async function shownChecks({ page }: CheckedPage): Promise<readonly string[]> {
  const lines = await page.locator('[data-check]').all()
  return Promise.all(
    lines.map(async (line) => `${await line.getAttribute('data-check')} ${await line.getAttribute('data-status')}`),
  )
}

describe('the page of an evidence pack, without network', () => {
  it('runs the same checks as the library, and shows texts of records as text', async () => {
    for (const pack of packs) {
      const opened = await openFile(writePackPage(template, pack))
      await opened.page.waitForSelector('#verdict:not([data-state="waiting"])')
      const report = await verifyPack(pack)
      const { checks, not_proven } = report
      await opened.page.waitForSelector(verdict('unchecked'))
      expect(await shownChecks(opened)).toEqual(checks.map(({ name, status }) => `${name} ${status}`))
      expect(await opened.page.locator('#unproven li').count()).toBe(not_proven.length)
      const story = explainPack(pack, report)
      expect(await opened.page.locator('#reasons li').count()).toBe(Math.max(story?.reasons.length ?? 0, 1))
      expect(await opened.page.locator('main script, main b:not([data-state])').count()).toBe(0)
      expect(opened.trouble).toEqual([])
      await opened.close()
    }
  })

  it('compares a pasted root key', async () => {
    const pack = packs[0] as EvidencePack
    const { page, trouble } = await openFile(writePackPage(template, pack))
    await page.waitForSelector(verdict('unchecked'))
    expect(await page.textContent('#verdict')).toContain('Not verified: the root key was not compared.')
    expect(await page.textContent('h1')).toBe('A decision and its evidence')
    expect(await page.textContent('#decision')).toContain('It is not proven.')
    const source = (await page.textContent('#source'))?.replaceAll(/\s+/g, ' ') ?? ''
    expect(source).toContain('This result comes from code in this file.')
    expect(source).toContain('chancery verify FILE --genesis genesis.json')
    await page.fill('#root', pack.genesis.root_public_key)
    await page.keyboard.press('Enter')
    await page.waitForSelector(verdict('passed'))
    const { checks } = await verifyPack(pack, { rootKey: pack.genesis.root_public_key })
    const signed = checks.filter(({ name, status }) => status === 'passed' && name !== 'contents').length
    expect(await page.textContent('#verdict')).toContain(`Valid: ${signed} checks passed.`)
    expect(await page.textContent('h1')).toMatch(/^(Allowed|Denied): /)
    await page.fill('#root', pack.genesis.network_authority.public_key)
    await page.click('#root-form button')
    await page.waitForSelector(verdict('failed'))
    expect(await page.getAttribute('[data-check="root_key"]', 'data-status')).toBe('failed')
    await page.fill('#root', 'not a key')
    await page.click('#root-form button')
    await page.waitForSelector('text=This is not a public key')
    expect(trouble).toEqual([])
  })

  it('shows a changed byte of the pack as such', async () => {
    const pack = packs[0] as EvidencePack
    const html = writePackPage(template, pack)
    const id = pack.genesis.signatures[0]?.sig ?? ''
    const other = `${id.startsWith('A') ? 'B' : 'A'}${id.slice(1)}`
    const { page } = await openFile(html.replace(JSON.stringify(id), JSON.stringify(other)))
    await page.waitForSelector(verdict('failed'))
    expect(await page.textContent('#verdict')).toContain('genesis')
    expect(await page.getAttribute('[data-check="genesis"]', 'data-status')).toBe('failed')
    const spaced = await openFile(html.replace('"agreement":', '"agreement": '))
    await spaced.page.waitForSelector(verdict('failed'))
    expect(await spaced.page.textContent('#verdict')).toContain('not canonical')
  })

  it('does not run a changed script, and then says that nothing was verified', async () => {
    const html = writePackPage(template, packs[0] as EvidencePack)
    const opened = await openFile(html.replace('<script type="module">', '<script type="module">;'))
    await expect.poll(() => opened.trouble.join()).toContain('Content Security Policy')
    expect(await opened.page.getAttribute('#verdict', 'data-state')).toBe('waiting')
    expect(await opened.page.textContent('#verdict')).toContain('Not verified.')
  })

  it('can reach no network', async () => {
    const opened = await openPage(browser, pathToFileURL(join(folder, 'pack.html')).href)
    await writeFile(join(folder, 'pack.html'), writePackPage(template, packs[0] as EvidencePack))
    await opened.page.goto(pathToFileURL(join(folder, 'pack.html')).href)
    await opened.page.waitForSelector(verdict('unchecked'))
    expect(opened.trouble).toEqual([])
    const refused = await opened.page.evaluate<string>(`fetch('http://127.0.0.1:9/').then(() => 'sent', String)`)
    expect(refused).toContain('Failed to fetch')
    expect(opened.trouble.join()).toContain('Content Security Policy')
  })

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'has no accessibility findings in %s at %i pixels, and no scroll bar to the side',
    async (colorScheme, width) => {
      const viewport = { width, height: 844 }
      const { page } = await openFile(writePackPage(template, packs[1] as EvidencePack), { colorScheme, viewport })
      await page.waitForSelector(verdict('unchecked'))
      expect(await axeFindings(page)).toEqual([])
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      await screenshot(page, `evidence-page-${colorScheme}-${width}`)
    },
  )
})
