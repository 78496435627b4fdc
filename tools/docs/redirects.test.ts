import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '@chancery/contract'
import { expect, it } from 'vitest'
import { readAnchors } from './markdown-links.ts'
import { addressOf, documents } from './pages.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const { redirects } = (await import(join(ROOT, 'site', 'redirects.mjs'))) as {
  redirects: (base: string, docs: string) => Record<string, string>
}
const moved = redirects('/docs/', join(ROOT, 'docs'))
const pages = new Map(documents().map((file) => [addressOf(file), file]))

it('every former address leads to a page that exists, and to a heading of it', () => {
  const wrong = Object.entries(moved).filter(([, target]) => {
    const [page = '', anchor] = target.replace(/^\/docs/, '').split('#')
    const file = pages.get(page)
    if (file === undefined) return true
    return anchor !== undefined && !readAnchors(readFileSync(join(ROOT, file), 'utf8')).has(anchor)
  })
  expect(wrong).toEqual([])
})

it('no former address is one of a page', () => {
  expect(Object.keys(moved).filter((address) => pages.has(address))).toEqual([])
})

it('every command has an address', () => {
  const addresses = COMMANDS.map(({ path }) => `/reference/commands/${path.join('-')}/`)
  expect(addresses.filter((address) => moved[address] === undefined && !pages.has(address))).toEqual([])
  expect(moved['/reference/commands/treaty-issue/']).toBe('/docs/reference/commands/treaty/#chancery-treaty-issue')
})
