import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkBuiltSite, checkMarkdownLinks } from './check-links.ts'
import { readAnchors, readLinks } from './markdown-links.ts'
import { sitePages } from './pages.ts'

const roots: string[] = []
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true })
})

function tree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'chancery-docs-'))
  roots.push(root)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

describe('links of Markdown', () => {
  it('are found outside of code, with their places', () => {
    const text = '# A\n\n[one](a.md) `[two](b.md)`\n\n```sh\n[three](c.md)\n```\n\n![four](d.svg) [`five`](e.md#x)\n'
    expect(readLinks(text).map(({ target, line, isImage }) => [target, line, isImage])).toEqual([
      ['a.md', 3, false],
      ['d.svg', 9, true],
      ['e.md#x', 9, false],
    ])
    for (const { target, start, end } of readLinks(text)) expect(text.slice(start, end)).toBe(target)
  })

  it('lead to headings by their words, a repeated one by its number', () => {
    const text = '# A b\n\n## `POST /join` (beta)\n\n## Open\n\n## Open\n\n```\n# not one\n```\n'
    expect([...readAnchors(text)]).toEqual(['a-b', 'post-join-beta', 'open', 'open-1'])
  })

  it.each([
    ['[x](b.md)', undefined],
    ['[x](b.md#there)', undefined],
    ['[x](#here)', undefined],
    ['[x](../LICENSE)', undefined],
    ['[x](https://example.org/)', undefined],
    ['[x](c.md)', 'no such file'],
    ['[x](b.md#nowhere)', 'no such heading'],
    ['[x](#nowhere)', 'no such heading'],
    ['[x](../../outside.md)', 'leads out of the repository'],
    ['[x](http://example.org/)', 'only https links lead outside'],
    ['![x](gone.svg)', 'no such file'],
  ])('%s: %s', (link, problem) => {
    const root = tree({ 'docs/a.md': `# A\n\n## Here\n\n${link}\n`, 'docs/b.md': '# B\n\n## There\n', LICENSE: '' })
    expect(checkMarkdownLinks(root).map((broken) => broken.problem)).toEqual(problem === undefined ? [] : [problem])
  })
})

describe('the built site', () => {
  const page = (body: string): string => `<!doctype html><html><body><h2 id="here">x</h2>${body}</body></html>`

  it.each([
    ['<a href="/b/#there">x</a>', undefined],
    ['<a href="#here">x</a>', undefined],
    ['<a href="/b/?q=1&amp;r=2">x</a>', undefined],
    ['<a href="https://example.org/">x</a>', undefined],
    ['<script>const text = \'<a href="/gone/">\'</script>', undefined],
    ['<a href="/gone/">x</a>', 'no such page'],
    ['<a href="/b">x</a>', 'no such page'],
    ['<a href="/b/#gone">x</a>', 'no such heading'],
    ['<script src="https://example.org/x.js"></script>', 'fetched from elsewhere'],
    ['<img src="//example.org/x.png">', 'fetched from elsewhere'],
    ['<link rel="stylesheet" href="https://example.org/x.css">', 'fetched from elsewhere'],
    ['<a href="http://example.org/">x</a>', 'only https links lead outside'],
  ])('%s: %s', (body, problem) => {
    const folder = tree({ 'index.html': page(body), 'b/index.html': '<h2 id="there">x</h2>' })
    expect(checkBuiltSite(folder).map((broken) => broken.problem)).toEqual(problem === undefined ? [] : [problem])
  })

  it('fetches no font or style from elsewhere', () => {
    const folder = tree({ 'a.css': '@import "https://example.org/f.css"; a { background: url(/own.png) }' })
    expect(checkBuiltSite(folder)).toEqual([
      { at: 'a.css', target: 'https://example.org/f.css', problem: 'fetched from elsewhere' },
    ])
  })
})

describe('pages of the site', () => {
  const root = tree({
    'docs/index.md': '# Home\n\nBegin [here](operate/keys.md#files).\n',
    'docs/operate/keys.md':
      '# Keys `and` more\n\nFiles of [mode](../../deploy/a.b.yaml) 0600. More.\n\n![A drawing](x.svg)\n',
    'docs/operate/x.svg':
      '<svg xmlns="x" viewBox="0 0 1 1">\n<style>svg { color: red }</style>\n\n<path d="M0 0"/></svg>',
    'deploy/a.b.yaml': 'a: 1\n',
    'CHANGELOG.md': '# Changelog\n\nNothing.\n',
  })
  const pages = new Map(sitePages(root, '/docs/').map((each) => [each.id, each]))

  it('are the files themselves, and the files they link to', () => {
    expect([...pages.keys()].toSorted()).toEqual([
      'index',
      'operate/keys',
      'project/changelog',
      'source/deploy/a-b-yaml',
    ])
    expect(pages.get('source/deploy/a-b-yaml')?.body).toBe('````yaml\na: 1\n````')
  })

  it('have title, description, and links of the site', () => {
    expect(pages.get('operate/keys')).toMatchObject({ title: 'Keys and more', description: 'Files of mode 0600.' })
    expect(pages.get('operate/keys')?.body).toContain('[mode](/docs/source/deploy/a-b-yaml/)')
    expect(pages.get('index')?.body).toContain('[here](/docs/operate/keys/#files)')
  })

  it('hold their drawings, without the colours these have on their own', () => {
    expect(pages.get('operate/keys')?.body).toContain(
      '<figure class="drawing" tabindex="0"><svg role="img" aria-label="A drawing" xmlns="x" viewBox="0 0 1 1"> <path d="M0 0"/></svg></figure>',
    )
  })

  it('must have a title', () => {
    expect(() => sitePages(tree({ 'docs/a.md': 'No heading.\n' }))).toThrow('docs/a.md has no heading')
  })
})
