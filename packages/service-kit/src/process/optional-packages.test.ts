import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CEDAR_PACKAGE } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { OPTIONAL_PACKAGES, PackageMissingError, loadOptional } from './optional-packages.ts'

const APPS = join(import.meta.dirname, '../../../../apps')

it('names every optional package of authority and gateway with its version', () => {
  const declared = ['authority', 'gateway'].flatMap((app) => {
    const text = readFileSync(join(APPS, app, 'package.json'), 'utf8')
    const { optionalDependencies } = JSON.parse(text) as { optionalDependencies: Record<string, string> }
    return Object.entries(optionalDependencies).map(([name, version]) => `${name}@${version}`)
  })
  expect([...Object.values(OPTIONAL_PACKAGES).flat(), CEDAR_PACKAGE].toSorted()).toEqual(declared.toSorted())
})

it('gives the command that installs a missing package', async () => {
  const missing = 'chancery-package-that-does-not-exist'
  const loaded = loadOptional('nats', 'authority audit', () => import(missing))
  await expect(loaded).rejects.toThrow(PackageMissingError)
  await expect(loaded).rejects.toThrow(
    'audit forward: needs an optional package: npm install @nats-io/jetstream@3.4.0 @nats-io/transport-node@3.4.0',
  )
})

it('returns the module, and throws other errors as they are', async () => {
  expect(await loadOptional('grpc', 'X', async () => 7)).toBe(7)
  const other = new Error('does not start')
  await expect(loadOptional('grpc', 'X', () => Promise.reject(other))).rejects.toBe(other)
})
