import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  FIRST_HOUR_PAGES,
  allSteps,
  isNightlyPage,
  missing,
  readSteps,
  runnablePages,
  stepsBefore,
} from './runnable-pages.ts'
import type { Ran } from './runnable-pages.ts'
import { describePages } from './runnable-pages.suite.ts'

const pages = runnablePages().filter((page) => !isNightlyPage(page) && !FIRST_HOUR_PAGES.includes(page))
const all = describePages(pages)

it('are found, the tutorials among them', () => {
  expect(pages).toEqual(['docs/operate/install.md', 'docs/tutorial/first-network.md'])
  expect(runnablePages()).toEqual(expect.arrayContaining([...FIRST_HOUR_PAGES]))
  const nightly = runnablePages().filter(isNightlyPage)
  expect(nightly).toContain('docs/how-to/revoke-a-node.md')
  expect(nightly.filter((page) => !page.startsWith('docs/how-to/'))).toEqual([
    'docs/operate/incidents.md',
    'docs/operate/rehearse.md',
    'docs/tutorial/boundary-policies.md',
    'docs/tutorial/evidence.md',
    'docs/tutorial/two-companies.md',
    'docs/tutorial/two-networks.md',
  ])
})

it('the first network leaves its authority stopped cleanly, and secrets in no log', async () => {
  const ran = all().get('docs/tutorial/first-network.md') as Ran
  const log = await readFile(join(ran.folder, 'authority.log'), 'utf8')
  const token = (await readFile(join(ran.folder, 'invite.token'), 'utf8')).trim()
  expect(token).toHaveLength(43)
  expect(log).not.toContain(token)
  expect(ran.output + ran.errors).not.toContain(token)
  const events = (await readFile(join(ran.folder, 'node.log'), 'utf8')).trimEnd().split('\n')
  expect(events.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(
    expect.arrayContaining(['started', 'heartbeat', 'stopped']),
  )
})

describe('a page is found to be wrong when it is wrong', () => {
  it('by what it promises', () => {
    expect(missing(['a … c', '…', 'd'], 'x\na b c\ny\nd\n')).toBeUndefined()
    expect(missing(['d', 'a … c'], 'a b c\nd\n')).toBe('a … c')
    expect(missing(['a (b)'], 'a b\n')).toBe('a (b)')
    expect(missing(['a b'], 'a   b\n')).toBeUndefined()
  })

  it('by its blocks: each has the text that follows it, and a mark is needed to run', () => {
    const page =
      '## One\n\n```sh\nno\n```\n\n```sh run\na\n```\n\n```text\nA\n```\n\n```text\nB\n```\n\n```sh run\nb\n```\n'
    expect(readSteps(page)).toEqual([
      { title: 'One', commands: 'a\n', promised: ['A'] },
      { title: 'One', commands: 'b\n', promised: [] },
    ])
  })

  it('by its blocks in a list, which are read without their indentation', () => {
    const page = '## One\n\n1. First:\n\n   ```sh run\n   a <<END\n     b\n   END\n   ```\n\n   ```text\n   A\n   ```\n'
    expect(readSteps(page)).toEqual([{ title: 'One', commands: 'a <<END\n  b\nEND\n', promised: ['A'] }])
  })

  it('by the steps of another page that it needs', () => {
    const first = '<!-- run first: first-network.md 1, 2 -->'
    expect(stepsBefore('docs/tutorial/x.md', first).map(({ title }) => title)).toEqual([
      '1. Create the network',
      '2. Start the authority',
    ])
    const here =
      '## Own\n\n```sh run\na\n```\n\n<!-- run here: first-network.md 2 -->\n\n## More\n\n```sh run\nb\n```\n'
    expect(allSteps('docs/tutorial/x.md', here).map(({ title, isOwn }) => [title, isOwn])).toEqual([
      ['Own', true],
      ['2. Start the authority', false],
      ['More', true],
    ])
    const wrong = '<!-- run first: first-network.md 99 -->'
    expect(() => stepsBefore('docs/tutorial/x.md', wrong)).toThrow('no step 99')
  })
})
