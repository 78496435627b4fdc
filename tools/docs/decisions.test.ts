import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const FOLDER = join(import.meta.dirname, '../../docs/decisions')
const PAGES = globSync('[0-9]*.md', { cwd: FOLDER }).toSorted()
const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')

it('the index of the decisions lists every page in order, with the title of the page', () => {
  const titles = PAGES.map((file) => [/^# (.*)$/m.exec(read(file))?.[1], file])
  const listed = [...read('index.md').matchAll(/^\| \[(.*?)\]\((.*?)\)/gm)].map(([, title, file]) => [title, file])
  expect(PAGES.length).toBeGreaterThanOrEqual(24)
  expect(listed).toEqual(titles)
})

it.each(PAGES)('%s: each decision has a status and a date', (file) => {
  const [title = '', ...sections] = read(file).split(/^## /m)
  const dated = /\nStatus: (?:accepted|replaced)\b.* Date: \d{4}-\d{2}-\d{2}\.\n/
  // A page with one decision has them below its title, a page with several below each heading.
  const decisions = title.includes('\nStatus:') ? [title] : sections
  expect(decisions.length).toBeGreaterThan(0)
  expect(decisions.filter((text) => !dated.test(text))).toEqual([])
})
