import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { flagName } from '../../apps/cli/src/arguments/options.ts'
import { buildParser, givenOptions } from '../../apps/cli/src/arguments/parser.ts'
import { chooseStyle } from '../../apps/cli/src/output/screen.ts'
import { readSteps, runnablePages } from './runnable-pages.ts'

/**
 * Most pages run at night (docs/project/tests.md). Before a merge, each command of theirs is parsed: it exists, and
 * has its arguments and options.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const PAGES = [...runnablePages(), 'examples/agent-tools/README.md']

/**
 * The commands of a shell text, each as its words. Enough for our pages: quotes, and `$(…)` as a part of a word. After an
 * option, and in SQL, the word is a namespace, a role or a database.
 */
function commandsIn(text: string): readonly (readonly string[])[] {
  const joined = text.replaceAll('\\\n', ' ')
  return [...joined.matchAll(/(?<![\w/.-]|(?:^|\s)-[-\w]*\s+|\b(?:database|owner)\s+)chancery +(?=[a-z-])/gm)].map(
    ({ 0: found, index }) => wordsOf(joined.slice(index + found.length)),
  )
}

/** The shell blocks of a page, or a whole script. */
function shellTexts(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  if (page.endsWith('.sh')) return [text]
  return [...text.matchAll(/^ *```(?:sh|bash|shell)[^\n]*\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block)
}

const WORD = /(?:"(?:\\.|[^"\\])*"|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|[^\s"'|;&<>()])+/y

function wordsOf(text: string): readonly string[] {
  const words: string[] = []
  for (let at = 0; ;) {
    WORD.lastIndex = at
    const [word] = WORD.exec(text) ?? []
    const after = at + (word?.length ?? 0)
    // The number before a redirection belongs to it.
    if (word === undefined || (/^\d$/.test(word) && /^[<>]/.test(text.slice(after)))) return words
    words.push(word.replaceAll(/^["']|["']$/g, ''))
    at = after + (/^ */.exec(text.slice(after))?.[0].length ?? 0)
  }
}

/** Pages of operators. Most of their blocks cannot run in a test, but a person types them at night. */
const OPERATOR_PAGES = globSync('docs/operate/*.md', { cwd: ROOT }).toSorted()

const SETTINGS = new Set(
  [...readFileSync(join(ROOT, 'docs/reference/settings.md'), 'utf8').matchAll(/^\| `([A-Z0-9_]+)`/gm)].map(
    ([, name = '']) => name,
  ),
)

/** Commands in the text of a page that are none, and settings that no service has. Shell blocks have own variables. */
function unknownNames(markdown: string): readonly string[] {
  const prose = markdown.replaceAll(/^( *)```(?:sh|bash|shell|sql|text)[^\n]*\n[\s\S]*?^\1```$/gm, '')
  const settings = [...prose.matchAll(/\b(?:NA|GATEWAY)_[A-Z0-9_]*[A-Z0-9]\b/g)].map(([name]) => name)
  const commands = [...prose.matchAll(/`chancery ([a-z][^`]*)`/g)].map(([, line = '']) => wordsOf(line))
  return [
    ...settings.filter((name) => !SETTINGS.has(name)),
    ...commands
      .filter((words) => !COMMANDS.some(({ path }) => path.every((word, at) => words[at] === word)))
      .map((words) => `chancery ${words.join(' ')}`),
  ]
}

const problems: string[] = []
/** One for all commands: building it takes longer than parsing. */
const parser = buildParser({
  commands: COMMANDS,
  line: COMMANDS.flatMap(({ path }) => path),
  version: '0',
  style: chooseStyle({ isTTY: false }, {}, true),
  columns: 80,
  write: () => undefined,
  writeError: () => undefined,
  run: async ({ options }, leaf) => {
    const given = givenOptions(leaf)
    const required = options.filter((option) => option.required === true).map(({ flags }) => flagName(flags))
    problems.push(...required.filter((name) => !given.has(name)).map((name) => `--${name} is missing`))
  },
})

/** What is wrong with a command line. One at a time. */
async function problemsOf(words: readonly string[]): Promise<readonly string[]> {
  problems.length = 0
  try {
    await parser.parseAsync([...words], { from: 'user' })
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error))
  }
  return problems.map((problem) => `chancery ${words.join(' ')}: ${problem}`)
}

describe('the commands of a page', () => {
  it.each(PAGES)('%s exist, with their arguments and options', async (page) => {
    const steps = readSteps(readFileSync(join(ROOT, page), 'utf8'))
    const commands = steps.flatMap((step) => commandsIn(step.commands))
    expect(commands.length).toBeGreaterThan(0)
    const found: string[] = []
    for (const words of commands) found.push(...(await problemsOf(words)))
    expect(found).toEqual([])
  })

  it.each(OPERATOR_PAGES)('%s: commands and settings that an operator reads exist', async (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const found: string[] = []
    for (const words of shellTexts(page).flatMap(commandsIn)) found.push(...(await problemsOf(words)))
    expect([...found, ...unknownNames(text)]).toEqual([])
  })

  it('end: every loop that waits has a limit', () => {
    const pages = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md', 'examples/**/*.sh'], { cwd: ROOT })
    const endless = pages.flatMap((page) =>
      shellTexts(page)
        .flatMap((text) => text.replaceAll('\\\n', ' ').split('\n'))
        .filter((line) => /(?:^|[\s'"])(?:until|while)\s.*;\s*do\s/.test(line) && !/^\s*timeout \d+ sh -c /.test(line))
        .map((line) => `${page}: ${line.trim()}`),
    )
    expect(pages.length).toBeGreaterThan(50)
    expect(endless).toEqual([])
  })

  it('are found in loops, pipes and variables', () => {
    const page = [
      "timeout 60 sh -c 'until chancery node list --quiet 2> /dev/null; do sleep 1; done'",
      'ID=$(chancery attestation list --home "a b" | grep x)',
      'chancery ask pay --home ./agent \\\n  --note "$(date -u)" || true',
      'cp "$(command -v chancery)" ./chancery.toml',
    ].join('\n')
    expect(commandsIn(page)).toEqual([
      ['node', 'list', '--quiet'],
      ['attestation', 'list', '--home', 'a b'],
      ['ask', 'pay', '--home', './agent', '--note', '$(date -u)'],
    ])
  })

  it('are found in a sentence, and settings', () => {
    const page =
      'Set `NA_AUDIT_FORWARD_URL`, or `NA_RATE_LIMIT_…_PER_MINUTE`. See `chancery audit` and `chancery node list`.'
    expect(unknownNames(page)).toEqual(['NA_AUDIT_FORWARD_URL', 'chancery audit'])
    expect(unknownNames('```sh\nexport NA_URL=x\n```\n\n```\nNA_HA=on\nNA_HA_MODE=on\n```\n')).toEqual(['NA_HA'])
  })

  it('are right, and leave nothing for the next one', async () => {
    expect(await problemsOf(['agreement', 'cosign', 'half.json', '--offer', 'offer.json'])).toEqual([])
  })

  it.each([
    ['a command that does not exist', ['nodez']],
    ['an option that does not exist', ['node', 'list', '--quite']],
    ['an argument that is missing', ['ask', '--home', './agent']],
    ['a word too many', ['use', './one', './two']],
    ['an option that is missing', ['agreement', 'cosign', 'half.json']],
  ])('are wrong with %s', async (_, words) => {
    expect(await problemsOf(words)).toEqual([expect.stringContaining(`chancery ${words.join(' ')}: `)])
  })
})
