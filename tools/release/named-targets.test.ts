import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')

// An old dist hides a target that a clean build does not have.
it.each(globSync('packages/*/package.json', { cwd: ROOT }).toSorted())(
  '%s names only files that a build has',
  (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const targets = [...text.matchAll(/"(?:\.\/)?dist\/([^"*]+?)\.(?:d\.ts|js)"/g)].map(([, name = '']) => name)
    const source = join(ROOT, dirname(file), 'src')
    const isThere = (name: string): boolean =>
      ['.ts', '.tsx', '.d.ts'].some((ending) => existsSync(join(source, name + ending)))
    expect(targets.filter((name) => !isThere(name))).toEqual([])
  },
)
