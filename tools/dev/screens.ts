import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startDemoWith } from '@chancery/testkit'
import type { Browser, Page } from 'playwright-core'
import { openBrowser, openPage, visit } from '../../tests/console/browser.ts'
import { buildConsoleWhenChanged } from '../release/build-console.ts'
import { type Addresses, PICTURES, type Picture, SCREENS, fileName } from './pictures.ts'

/**
 * `npm run screens`: starts the demo and saves a picture of every page and main state of the console, in light, dark
 * and on a phone. `--out FOLDER` names the folder, `--only TEXT` limits the pictures to names that contain the text.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const NODES = 60

async function main(): Promise<number> {
  const options = { out: { type: 'string', default: 'build/screens' }, only: { type: 'string', default: '' } } as const
  const { values } = parseArgs({ options })
  const out = resolve(ROOT, values.out)
  await mkdir(out, { recursive: true })
  await buildConsoleWhenChanged()
  const home = await mkdtemp(join(tmpdir(), 'chancery-screens-'))
  const demo = await startDemoWith(join(home, 'na'), ['--static', '--gateway', '--nodes', String(NODES)])
  const browser = await openBrowser()
  const gateway = `http://127.0.0.1:${Number(new URL(demo.url).port) + 1}`
  let failed = 0
  try {
    for (const picture of PICTURES.filter(({ name }) => name.includes(values.only)))
      failed += (await take(picture, { browser, out, authority: demo.url, gateway, keyFile: demo.keyFile })) ? 0 : 1
  } finally {
    await browser.close()
    await demo.stop()
    await rm(home, { recursive: true, force: true })
  }
  process.stdout.write(`${JSON.stringify({ folder: out, failed })}\n`)
  return failed === 0 ? 0 : 1
}

interface Studio extends Addresses {
  readonly browser: Browser
  readonly out: string
  readonly keyFile: string
}

/** Opens the state once, and saves it on every screen. A state that does not appear is reported, and the next follows. */
async function take(picture: Picture, studio: Studio): Promise<boolean> {
  const url = picture.of === 'gateway' ? studio.gateway : studio.authority
  const checkedPage = await openPage(studio.browser, url, { reducedMotion: 'reduce' })
  const { page } = checkedPage
  page.setDefaultTimeout(20_000)
  try {
    await visit(checkedPage, url + picture.path)
    if (picture.isSignedIn !== false && picture.path.startsWith('/operator')) {
      await page.setInputFiles('#key-file', studio.keyFile)
      await page.waitForSelector('.keychip', { state: 'attached' })
    }
    await picture.show?.(page)
    await page.waitForSelector(picture.ready ?? 'main')
    await page.waitForSelector('[aria-busy=true]', { state: 'detached' })
    await save(page, picture, studio.out)
    return true
  } catch (error) {
    process.stdout.write(`${picture.name}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}\n`)
    return false
  } finally {
    await checkedPage.close()
  }
}

async function save(page: Page, picture: Picture, out: string): Promise<void> {
  for (const { name, width, height, colorScheme } of SCREENS) {
    await page.setViewportSize({ width, height: width > 400 ? (picture.height ?? height) : height })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const file = fileName(picture.name, name)
    await page.screenshot({ path: join(out, file) })
    process.stdout.write(`${file}\n`)
  }
}

process.exitCode = await main()
