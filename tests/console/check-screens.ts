import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type AxeScope, HAS_ALL_SCREENS, axeFindings, nextFrames, policyReports, screenshot } from './browser.ts'
import { layoutFindings } from './layout-findings.ts'

interface Screen {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly colorScheme: 'light' | 'dark'
  /** What axe checks. Between light and dark, only the colours differ. */
  readonly axe: 'all' | 'colours' | 'nothing'
}

const LIGHT: Screen = { name: 'light', width: 1440, height: 900, colorScheme: 'light', axe: 'all' }

/**
 * `zoom` is a window of 1280 by 800 pixels at 200 %. Dark comes first: the change of the colours starts transitions. axe
 * runs on the phone at night: most of a narrow page is what axe checks in the wide one.
 */
const SCREENS: readonly Screen[] = [
  { name: 'dark', width: 1440, height: 900, colorScheme: 'dark', axe: 'colours' },
  { name: 'phone', width: 360, height: 900, colorScheme: 'light', axe: HAS_ALL_SCREENS ? 'all' : 'nothing' },
  { name: 'zoom', width: 640, height: 400, colorScheme: 'light', axe: 'nothing' },
  LIGHT,
]

/**
 * Checks the shown page in light, in dark, on a phone and at 200 %: no finding of axe, nothing wider than the screen, no
 * control that is cut off or cannot be reached, and no motion for a reader who wants none. The page is then as before.
 */
export async function checkScreens(page: Page, name: string, scope: AxeScope = {}): Promise<void> {
  const found = await screenFindings(page, name, scope)
  expect([...found, ...policyReports(page)]).toEqual([])
}

export async function screenFindings(page: Page, name: string, scope: AxeScope = {}): Promise<readonly string[]> {
  const found: string[] = []
  for (const screen of SCREENS) {
    await page.setViewportSize({ width: screen.width, height: screen.height })
    // Before the colours change: a transition that this change starts must still run when it is looked for.
    await nextFrames(page)
    await page.emulateMedia({ colorScheme: screen.colorScheme, reducedMotion: 'reduce' })
    const findings = [
      ...(await page.evaluate<readonly string[]>(MOTION)),
      ...(await layoutFindings(page)),
      ...(screen.axe === 'nothing' ? [] : await axeFindings(page, { ...scope, onlyColours: screen.axe === 'colours' })),
    ]
    found.push(...findings.map((finding) => `${name}, ${screen.name}: ${finding}`))
    await screenshot(page, `${name}-${screen.name}`)
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' })
  return found
}

/** Animations and transitions over 10 ms that run now. */
const MOTION = `document.getAnimations()
  .filter(({ playState, effect }) => playState === 'running' && effect.getComputedTiming().duration > 10)
  .map(({ effect, transitionProperty, animationName }) =>
    'moves: ' + (transitionProperty ?? animationName) + ' of ' + effect.target.outerHTML.slice(0, 120))`
