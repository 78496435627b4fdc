import { seedTreaties, startTestAuthority } from '@chancery/testkit'
import type { Page } from 'playwright-core'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { round } from '../lib/statistics.ts'
import { openBrowser, openPage, visit } from '../../tests/console/browser.ts'

const TREATIES = 195_000
const TREATIES_PER_SOVEREIGN = 20
const MAX_PAINT_MS = 3000
const MIN_FRAMES = 20
const GESTURE_MS = 3000
/** Maximum wait. The real time is measured and reported. */
const PATIENCE_MS = 240_000

/** One authority with many treaties among a twentieth as many networks, and a browser that shows its map. */
export const map: Measurement = {
  says: `the map of ${TREATIES} treaties (--entries): painted within ${MAX_PAINT_MS} ms, and moved with ${MIN_FRAMES} frames a second: the smallest bound over its figure (1)`,
  run,
}

async function run({ entries: treaties = TREATIES, cleanup }: BenchOptions): Promise<BenchResult> {
  const na = await startTestAuthority({ network: 'S-0' })
  cleanup.add(() => na.stop())
  const browser = await openBrowser()
  cleanup.add(() => browser.close())
  const sovereigns = Math.max(2, Math.ceil(treaties / TREATIES_PER_SOVEREIGN))
  await seedTreaties(
    na.parts,
    Array.from({ length: treaties }, (_, i) => ({
      treaty_id: `t-${i}`,
      from: `S-${i % sovereigns}`,
      to: `S-${Math.floor(Math.random() * sovereigns)}`,
    })),
  )
  // The graph is built once for all readers. This first read builds it.
  await na.request('GET', '/connectome.json?view=edges')
  const watched = await openPage(browser, na.url)
  const figures = await measure(watched.page, () => visit(watched, `${na.url}/connectome`, PATIENCE_MS))
  if (watched.trouble.length > 0) throw new Error(watched.trouble.join('\n'))
  const { firstPaintMs, panWhileLayingOut, pan, zoom, drag: dragged } = figures
  const rates = [panWhileLayingOut, pan, zoom, dragged].map((rate) => rate / MIN_FRAMES)
  return { ratio: round(Math.min(MAX_PAINT_MS / firstPaintMs, ...rates)), bar: 1, sovereigns, treaties, ...figures }
}

async function measure(page: Page, open: () => Promise<void>) {
  await open()
  const mapMs = await page.evaluate<number>(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))',
  )
  const firstPaintMs = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity",
  )
  const layingOut = await frames(page, "['ArrowLeft', 'ArrowRight']")
  // The layout is then complete, and the whole picture was drawn.
  await page.waitForTimeout(60_000)
  return {
    firstPaintMs: Math.round(firstPaintMs),
    mapMs: Math.round(mapMs),
    panWhileLayingOut: layingOut,
    pan: await frames(page, "['ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown']"),
    zoom: await frames(page, "['+', '-']"),
    drag: await drag(page),
  }
}

/** Frames per second while a key is pressed in each frame. */
function frames(page: Page, keys: string): Promise<number> {
  return page.evaluate<number>(`new Promise((done) => {
    const canvas = document.querySelector('canvas')
    const keys = ${keys}
    const started = performance.now()
    let count = 0
    const step = (now) => {
      if (now - started > ${GESTURE_MS}) return done(Math.round((count * 10_000) / (now - started)) / 10)
      canvas.dispatchEvent(new KeyboardEvent('keydown', { key: keys[count % keys.length], bubbles: true }))
      count += 1
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)
}

/** Frames per second while a real pointer is moved. */
async function drag(page: Page): Promise<number> {
  const box = await page.locator('canvas').boundingBox()
  if (box === null) throw new Error('the map is not there')
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.evaluate(
    'window.drawn = 0; window.counting = true; (function count() { window.drawn += 1; if (window.counting) requestAnimationFrame(count) })()',
  )
  const started = performance.now()
  for (let i = 0; performance.now() - started < GESTURE_MS; i += 1)
    await page.mouse.move(x + 80 * Math.sin(i / 10), y + 60 * Math.cos(i / 10))
  const seconds = (performance.now() - started) / 1000
  const drawn = await page.evaluate<number>('window.counting = false, window.drawn')
  await page.mouse.up()
  return Math.round((drawn * 10) / seconds) / 10
}
