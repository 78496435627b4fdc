import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { writeDirectImports } from './direct-imports.ts'

const root = await mkdtemp(join(tmpdir(), 'direct-imports-'))
afterAll(() => rm(root, { recursive: true }))

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

it('replaces imports from an index, and leaves every other one', async () => {
  const exports = { '.': { default: './dist/index.js' }, './dist/*.js': './dist/*.js' }
  await put('packages/law/package.json', JSON.stringify({ name: '@chancery/law', exports }))
  await put(
    'packages/law/dist/index.js',
    "export * from './all.js';\nexport { first as former } from './one.js';\nexport * as times from './times.js';\n",
  )
  await put('packages/law/dist/all.js', "// A comment.\nexport * from './two.js';\n")
  await put('packages/law/dist/one.js', 'export const first = 1;\n')
  await put('packages/law/dist/two.js', 'export async function second() { }\n')
  await put('packages/law/dist/times.js', 'export const hour = 60;\n')
  await put('apps/shop/package.json', JSON.stringify({ name: '@chancery/shop' }))
  const kept =
    "import { rm } from 'node:fs';\nimport * as law from '@chancery/law';\nexport { second } from '@chancery/law';"
  await put(
    'apps/shop/dist/main.js',
    `import { second as later, former, times, } from '@chancery/law';\n${kept}\nimport { unknown } from '@chancery/law';\n`,
  )
  expect(await writeDirectImports(root)).toBe(1)
  expect(await readFile(join(root, 'apps/shop/dist/main.js'), 'utf8')).toBe(
    "import * as times from '@chancery/law/dist/times.js'; " +
      "import { second as later } from '@chancery/law/dist/two.js'; " +
      `import { first as former } from '@chancery/law/dist/one.js';\n${kept}\nimport { unknown } from '@chancery/law';\n`,
  )
  expect(await writeDirectImports(root)).toBe(0)
})
