import { describe, expect, it } from 'vitest'
import { PAGE_LIMITS, checkPages, measurePages } from './page-sizes.ts'

/** Holds how the sizes of pages are added up, and that a page above a limit fails the build. */
const script = (name: string, imports: string[] = [], dynamicImports: string[] = [], page?: string) => ({
  name,
  imports,
  dynamicImports,
  page,
})
const SCRIPTS = [
  script('core.js', [], ['nodes.js', 'partners.js', 'drawer.js']),
  script('nodes.js', ['core.js', 'shared.js'], ['verify.js'], 'nodes'),
  script('partners.js', ['core.js', 'shared.js'], [], 'partners'),
  script('shared.js'),
  script('drawer.js', ['core.js']),
  script('verify.js', ['shared.js', 'proof.js']),
  script('proof.js'),
]
const SIZES = new Map([
  ['style.css', 1],
  ['core.js', 10],
  ['nodes.js', 100],
  ['partners.js', 200],
  ['shared.js', 1000],
  ['drawer.js', 10_000],
  ['verify.js', 20_000],
  ['proof.js', 50_000],
])

describe('sizes of pages', () => {
  it('add up what a page imports, each script once, without other pages', () => {
    expect(measurePages(SCRIPTS, SIZES, ['core.js', 'style.css'])).toEqual([
      { page: 'nodes', bytes: 1111, mostBytes: 81_111 },
      { page: 'partners', bytes: 1211, mostBytes: 11_211 },
    ])
  })

  it('fail above a limit, and when there is no page', () => {
    const page = (bytes: number, mostBytes: number) => [{ page: 'nodes', bytes, mostBytes }]
    expect(() => checkPages(page(PAGE_LIMITS.page, PAGE_LIMITS.all))).not.toThrow()
    expect(() => checkPages(page(PAGE_LIMITS.page + 1, 0))).toThrow('The page nodes loads')
    expect(() => checkPages(page(0, PAGE_LIMITS.all + 1))).toThrow('in all')
    expect(() => checkPages([])).toThrow('No page')
  })
})
