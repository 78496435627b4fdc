import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

/** Files that the hosting site, editors and dev containers read. A wrong one fails there in silence. */

const ROOT = join(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const FORMS = globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: ROOT }).filter((file) => !file.endsWith('/config.yml'))

interface Form {
  readonly name?: string
  readonly description?: string
  readonly body?: readonly {
    readonly type: string
    readonly id?: string
    readonly attributes?: { readonly label?: string; readonly value?: string; readonly options?: readonly unknown[] }
  }[]
}

describe('.github/CODEOWNERS', () => {
  const rules = read('.github/CODEOWNERS')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))

  it('names paths that exist, each with an owner', () => {
    expect(rules.length).toBeGreaterThan(5)
    for (const [pattern = '', ...owners] of rules) {
      expect(owners.length, pattern).toBeGreaterThan(0)
      expect(
        owners.filter((owner) => !/^@[\w-]+(?:\/[\w-]+)?$/.test(owner)),
        pattern,
      ).toEqual([])
      if (pattern !== '*') expect(globSync(pattern.replace(/^\/|\/$/g, ''), { cwd: ROOT }), pattern).toHaveLength(1)
    }
  })

  it.each(['.npmrc', 'site/.npmrc', 'package-lock.json', 'site/package-lock.json', '.ci/fetch-node'])(
    'gives %s to maintainers only, because it can change a release',
    (file) => {
      const matches = ([pattern = '']: readonly string[]): boolean =>
        pattern === '*' || (pattern.includes('/') ? `/${file}`.startsWith(pattern) : basename(file) === pattern)
      expect(rules.findLast(matches)?.slice(1)).toEqual(['@OWNER/maintainers'])
    },
  )

  it('begins with the owners of everything else: the last matching line counts', () => {
    expect(rules.findIndex(([pattern]) => pattern === '*')).toBe(0)
  })
})

describe('issue forms', () => {
  it('are three, and no issue is opened without one', () => {
    expect(FORMS).toHaveLength(3)
    expect(parse(read('.github/ISSUE_TEMPLATE/config.yml'))).toEqual({ blank_issues_enabled: false })
  })

  it.each(FORMS)('%s has what the hosting site requires', (file) => {
    const { name, description, body = [] } = parse(read(file)) as Form
    expect(name).toBeTypeOf('string')
    expect(description).toBeTypeOf('string')
    const ids = body.flatMap(({ id }) => (id === undefined ? [] : [id]))
    expect(ids).toEqual([...new Set(ids)])
    for (const { type, id, attributes } of body) {
      expect(['markdown', 'textarea', 'input', 'dropdown', 'checkboxes']).toContain(type)
      if (type === 'markdown') expect(attributes?.value).toBeTypeOf('string')
      else expect([id, attributes?.label], `${file} ${id}`).toEqual([expect.any(String), expect.any(String)])
      if (type === 'dropdown' || type === 'checkboxes') expect(attributes?.options?.length).toBeGreaterThan(0)
    }
  })

  it('direct security problems to the private report', () => {
    expect(read('.github/ISSUE_TEMPLATE/defect.yml')).toContain('SECURITY.md')
  })
})

describe('development files', () => {
  it('.editorconfig has the values of the formatter', () => {
    const { printWidth, tabWidth } = JSON.parse(read('.oxfmtrc.json')) as { printWidth: number; tabWidth: number }
    const [, common = ''] = read('.editorconfig').split('[*]\n')
    expect(common).toContain(`max_line_length = ${printWidth}\n`)
    expect(common).toContain(`indent_size = ${tabWidth}\n`)
  })

  it('the dev container has the system of the build server', () => {
    const image = /image: (debian:\S+@sha256:[0-9a-f]{64})/.exec(read('.github/workflows/ci.yml'))?.[1]
    expect(image).toBeTypeOf('string')
    expect(read('.devcontainer/Dockerfile')).toContain(`FROM ${image}\n`)
  })

  it('the dev container runs scripts that exist', () => {
    const { build, postCreateCommand } = JSON.parse(read('.devcontainer/devcontainer.json')) as {
      build: { dockerfile: string; context: string }
      postCreateCommand: string
    }
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    expect(build).toMatchObject({ dockerfile: 'Dockerfile', context: '..' })
    const called = [...postCreateCommand.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name)
    expect(called).toEqual(['setup'])
    expect(scripts).toHaveProperty('setup')
  })
})

describe('docs/project/first-tasks.md', () => {
  it('names files that exist', () => {
    const names = [...read('docs/project/first-tasks.md').matchAll(/`((?:tools|tests|\.ci)\/[\w./-]+)`/g)]
    expect(names.length).toBeGreaterThan(4)
    for (const [, name = ''] of names) expect(globSync(name, { cwd: ROOT }), name).toHaveLength(1)
  })
})
