import { describe, expect, it } from 'vitest'
import { clientLibraryPage, endOf } from './sdk-reference.ts'

describe('the reference of the client library', () => {
  const page = clientLibraryPage()

  it('declares each interface and class once in a file', () => {
    const twice = page.split('\n### ').flatMap((section) => {
      const names = [...section.matchAll(/^(?:interface|class) (\w+)/gm)].map(([, name]) => name)
      return names.filter((name, index) => names.indexOf(name) !== index)
    })
    expect(twice).toEqual([])
    expect(page.match(/^interface EvidenceApi /gm)).toHaveLength(1)
  })

  it('has every variant of a type: each one ends with a semicolon', () => {
    const types = [...page.matchAll(/^type (\w+)[^]*?(?=\n\n|\n(?:type|interface|class|function|const) |\n```)/gm)]
    expect(types.length).toBeGreaterThan(20)
    // A comment at the end belongs to the next declaration.
    const isWhole = (text: string): boolean => /;(?:\n\/\*\*(?:(?!\*\/)[^])*\*\/)?$/.test(text)
    expect(types.filter(([text]) => !isWhole(text)).map(([, name]) => name)).toEqual([])
  })

  it('has no verdict that is only ok: it carries the record or what was checked', () => {
    // The names of an earlier library keep their results.
    const own = page.split('\n### ').filter((section) => !section.startsWith('compat/'))
    const bare = own.flatMap((section) => [
      ...[...section.matchAll(/\{\s*readonly ok: (?:true|boolean);\s*\}/g)].map(([text]) => text),
      ...[...section.matchAll(/^.*\bverify\w*\(.*Promise<(?:Verdict<|boolean).*$/gm)].map(([text]) => text),
    ])
    expect(bare).toEqual([])
  })

  it('ends a union after its last variant', () => {
    const text = 'export type Verdict = {\n    ok: true;\n} | {\n    ok: false;\n};\nexport type Next = 1;\n'
    expect(text.slice(0, endOf(text, 'export type Verdict'.length, 'type'))).toMatch(/ok: false;\n\};$/)
  })
})
