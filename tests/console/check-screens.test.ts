import { afterAll, expect, it } from 'vitest'
import { closePages, openPage, sharedBrowser } from './browser.ts'
import { screenFindings } from './check-screens.ts'

afterAll(async () => closePages(await sharedBrowser()))

const checked = async (body: string, style = ''): Promise<string> => {
  const { page, close } = await openPage(await sharedBrowser(), 'about:blank')
  await page.setContent(
    `<!doctype html><html lang="en"><title>t</title><meta name="viewport" content="width=device-width"><style>${style}</style><main><h1>t</h1>${body}</main></html>`,
  )
  const found = await screenFindings(page, 'page')
  await close()
  return found.join('\n')
}

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
