import type { Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { closePages, nextFrames, openPage, sharedBrowser } from './browser.ts'
import { screenFindings } from './check-screens.ts'
import { layoutFindings } from './layout-findings.ts'

afterAll(async () => closePages(await sharedBrowser()))

const found = async (
  body: string,
  style: string,
  find: (page: Page) => Promise<readonly string[]>,
): Promise<string> => {
  const { page, close } = await openPage(await sharedBrowser(), 'about:blank')
  await page.setContent(
    `<!doctype html><html lang="en"><title>t</title><meta name="viewport" content="width=device-width"><style>${style}</style><main><h1>t</h1>${body}</main></html>`,
  )
  const findings = await find(page)
  await close()
  return findings.join('\n')
}
const checked = (body: string, style = ''): Promise<string> =>
  found(body, style, (page) => screenFindings(page, 'page'))

it('finds nothing on a good page, and each kind of problem', async () => {
  expect(await checked('<button>go</button>')).toBe('')
  expect(await checked('<h4>skipped</h4>')).toContain('light: heading-order')
  expect(await checked('<p>grey</p>', '@media (prefers-color-scheme: dark) { p { color: #ccc } }')).toContain(
    'dark: color-contrast',
  )
  expect(await checked('<p>wide</p>', 'p { width: 600px }')).toContain('phone: wider than the screen')
  expect(
    await checked(
      '<div><p>long</p><button>go</button></div>',
      'div { width: 500px; overflow: hidden; white-space: nowrap } p { display: inline-block; width: 490px }',
    ),
  ).toContain('zoom: cut off: <button>')
  expect(
    await checked(
      '<div><p></p><button>go</button></div>',
      'div { position: fixed; top: 0; left: 0 } p { height: 500px }',
    ),
  ).toContain('zoom: cut off: <button>')
  const dark = '@media (prefers-color-scheme: dark) { p { background: #eee } }'
  expect(await checked('<p>slow</p>', `p { transition: background-color 100ms } ${dark}`)).toContain(
    'dark: moves: background-color',
  )
  expect(await checked('<p>quick</p>', `p { transition: background-color 5ms } ${dark}`)).toBe('')
})

it('names the element that makes a page wide, and none that scrolls', async () => {
  const onPhone = (body: string, style: string): Promise<string> =>
    found(body, `div { overflow-x: auto } p { width: 900px } ${style}`, async (page) => {
      await page.setViewportSize({ width: 360, height: 900 })
      await nextFrames(page)
      return layoutFindings(page)
    })
  expect(await onPhone('<div><p>scrolled</p></div>', '')).toBe('')
  expect(await onPhone('<div><p>scrolled</p></div><b>long</b>', 'b { display: block; width: 892px }')).toMatch(
    /^wider than the screen: 900 of 360: <b>/,
  )
  // An element that is placed in the page leaves the part that scrolls.
  const placed = '<div><p>scrolled<i>placed</i></p></div>'
  expect(await onPhone(placed, 'i { position: absolute; left: 800px }')).toMatch(
    /^wider than the screen: \d+ of 360: <i>/,
  )
  expect(await onPhone(placed, 'div { position: relative } i { position: absolute; left: 800px }')).toBe('')
})
