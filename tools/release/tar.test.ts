import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readTree, writeTarGz } from './tar.ts'

const SECONDS = 1_600_000_000
const LONG = `${'folder/'.repeat(20)}file.txt`

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-tar-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('writeTarGz', () => {
  it('writes what tar reads: contents, modes, owner and time', () => {
    const files = [
      { path: 'package/b.txt', bytes: Buffer.from('b'.repeat(513)) },
      { path: 'package/a.mjs', bytes: Buffer.from('#!/usr/bin/env node\n') },
      { path: `package/${LONG}`, bytes: Buffer.alloc(512) },
      { path: 'package/empty', bytes: Buffer.alloc(0) },
    ]
    const file = join(folder, 'a.tgz')
    writeFileSync(file, writeTarGz(files, SECONDS))
    const listed = execFileSync('tar', ['-tvzf', file, '--utc', '--full-time', '--numeric-owner'], { encoding: 'utf8' })
    const lines = listed.trim().split('\n')
    expect(lines.map((line) => line.split(' ').at(-1))).toEqual(files.map(({ path }) => path).toSorted())
    for (const line of lines) expect(line).toMatch(/^-rw\S+ 0\/0 .* 2020-09-13 12:26:40 /)
    expect(lines.map((line) => line.slice(0, 10))).toEqual(['-rwxr-xr-x', ...Array(3).fill('-rw-r--r--')])
    execFileSync('tar', ['-xzf', file, '-C', folder])
    for (const { path, bytes } of files) expect(readFileSync(join(folder, path))).toEqual(Buffer.from(bytes))
  })

  it('refuses paths that do not fit', () => {
    for (const path of ['x'.repeat(101), `${'x'.repeat(160)}/a`, 'ä', 'a\n'])
      expect(() => writeTarGz([{ path, bytes: Buffer.alloc(1) }], SECONDS), path).toThrow(/tar file/)
  })
})

describe('readTree', () => {
  it('gives the same bytes for other modes, times and an other order of creation', async () => {
    const make = async (name: string, names: readonly string[], mode: number): Promise<Uint8Array> => {
      const root = join(folder, name)
      mkdirSync(join(root, 'sub'), { recursive: true })
      for (const each of names) writeFileSync(join(root, each), each)
      for (const each of names) chmodSync(join(root, each), mode)
      expect(statSync(join(root, names[0] ?? '')).mode & 0o777).toBe(mode)
      return writeTarGz(await readTree(root, 'package'), SECONDS)
    }
    const names = ['z', 'sub/a', 'sub-b', 'a']
    expect(await make('one', names, 0o600)).toEqual(await make('two', names.toReversed(), 0o755))
  })
})
