import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import config from '../../vitest.config.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FILES = globSync('{packages,apps,tests,tools}/**/*.nightly.test.ts', {
  cwd: ROOT,
  exclude: (path) => basename(path) === 'node_modules' || basename(path) === 'dist',
})

interface Project {
  readonly test: { readonly name: string; readonly include: readonly string[]; readonly exclude?: readonly string[] }
}
const projects = (config as unknown as { test: { projects: readonly Project[] } }).test.projects

/** The files of a project, as Vitest finds them. */
const filesOf = (name: string): readonly string[] => {
  const { include = [], exclude = [] } = projects.find(({ test }) => test.name === name)?.test ?? {}
  return globSync([...include], { cwd: ROOT, exclude: [...exclude, '**/node_modules/**'] })
}

it('every nightly test runs in the project nightly, and in none that runs before a merge', () => {
  expect(FILES.length).toBeGreaterThan(15)
  expect(filesOf('nightly').toSorted()).toEqual(FILES.toSorted())
  for (const name of ['packages', 'sqlite', 'postgres', 'console', 'e2e', 'slow'])
    expect([name, filesOf(name).filter((file) => file.includes('.nightly.'))]).toEqual([name, []])
})

it('docs/project/tests.md names every nightly test, with what runs before a merge', () => {
  const page = readFileSync(join(ROOT, 'docs/project/tests.md'), 'utf8')
  expect(FILES.map((file) => basename(file)).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
