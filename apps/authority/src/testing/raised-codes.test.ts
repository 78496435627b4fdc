import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ERRORS } from '@chancery/contract'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../../..')

async function sourcesOf(folder: string): Promise<string> {
  const names = (await readdir(join(ROOT, folder), { recursive: true })).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  return (await Promise.all(names.map((name) => readFile(join(ROOT, folder, name), 'utf8')))).join('\n')
}

it('every error code is raised somewhere, or its text says that it is reserved', async () => {
  const sources = (await Promise.all(['apps/authority/src', 'packages/service-kit/src'].map(sourcesOf))).join('\n')
  const unraised = Object.keys(ERRORS).filter((code) => !sources.includes(`'${code}'`))
  const reserved = Object.entries(ERRORS).filter(([, { message }]) => message.startsWith('Reserved:'))
  expect(unraised).toEqual(reserved.map(([code]) => code))
})
