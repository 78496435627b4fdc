import { describe, expect, it } from 'vitest'
import { findWords, listFiles, selectFiles, type WordList } from './check-words.ts'
import words from './words.json' with { type: 'json' }

const LIST: WordList = {
  never: [
    { word: 'nobody', use: 'no caller' },
    { word: 'kept', use: 'stored' },
  ],
  ask: [{ word: 'who', use: 'the caller that' }],
  exceptions: [
    { text: 'nobody:nogroup', reason: 'a user of the system' },
    { text: 'kept by law', reason: 'a name', files: 'docs/**' },
  ],
}

const neverIn = (file: string, text: string): readonly string[] =>
  findWords(file, text, LIST)
    .filter(({ kind }) => kind === 'never')
    .map(({ line, word, use }) => `${line} ${word} ${use}`)

describe('check-words', () => {
  it('names line, word and replacement of a banned word in Markdown', () => {
    expect(neverIn('a.md', '# Title\n\nNobody is served.\n')).toEqual(['3 Nobody no caller'])
  })

  it('finds banned words in comments, strings, test names, templates and markup of a source file', () => {
    const source = [
      '// nobody reads this',
      "it('is kept for later', () => {})",
      'const text = `it is kept ${nobody} here`',
      'const page = <p title="for nobody here">served to nobody now</p>',
    ].join('\n')
    expect(neverIn('a.tsx', source)).toEqual([
      '1 nobody no caller',
      '2 kept stored',
      '3 kept stored',
      '4 nobody no caller',
      '4 nobody no caller',
    ])
  })

  it('accepts names: code spans, link targets, identifiers, program output, parts of longer names and strings of one word', () => {
    expect(neverIn('a.md', 'Set `kept` in [this](kept.md), NA_KEPT_DAYS or kept-days.')).toEqual([])
    expect(neverIn('a.md', '```text\nIt is kept.\n```\n\nkept\n')).toEqual(['5 kept stored'])
    expect(neverIn('a.ts', "const kept = 'kept'\nimport './kept.ts'")).toEqual([])
  })

  it('accepts an exception, and an exception for some files only in these files', () => {
    expect(neverIn('a.md', 'chown nobody:nogroup FILE')).toEqual([])
    expect(neverIn('docs/a.md', 'It is kept by law.')).toEqual([])
    expect(neverIn('a.md', 'It is kept by law.')).toEqual(['1 kept stored'])
  })

  it('reports ask words without failing on them', () => {
    expect(findWords('a.md', 'Operators who sign.', LIST)).toMatchObject([{ kind: 'ask', word: 'who', line: 1 }])
  })

  it('selects files by pattern and by folder, and no generated folder', () => {
    const files = listFiles()
    expect(selectFiles(['*.md'], files)).toContain('README.md')
    expect(selectFiles(['docs/tutorial'], files)).toContain('docs/tutorial/first-network.md')
    expect(selectFiles(['docs/tutorial'], files)).not.toContain('README.md')
    expect(files.filter((file) => file.includes('/dist/'))).toEqual([])
  })

  it('finds the words of the real list', () => {
    const texts = [
      'Nobody is served.',
      'The gateway believes it.',
      'It was kept.',
      'Behind it stands a proxy.',
      'Soon.',
    ]
    for (const text of texts) {
      expect(findWords('a.md', text).filter(({ kind }) => kind === 'never')).toHaveLength(1)
    }
    expect(
      findWords('a.md', 'It starts as soon as the list is stored.').filter(({ kind }) => kind === 'never'),
    ).toEqual([])
  })

  it('has a reason for every exception and a file for every pattern of checked files', () => {
    expect(words.exceptions.filter(({ reason }) => reason.length < 5)).toEqual([])
    const files = listFiles()
    expect(words.checked.filter((pattern) => selectFiles([pattern], files).length === 0)).toEqual([])
  })
})
