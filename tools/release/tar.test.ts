import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { packFolder } from './tar.ts'

const SECONDS = 1_600_000_000
const LONG = `${'folder/'.repeat(20)}file.txt`

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-tar-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Packs a folder with these files. The names that end with `.mjs` are programs. */
function pack(place: string, names: readonly string[], [mode, programMode]: readonly [number, number]): string {
  const root = join(folder, place, 'package')
  for (const name of names) {
    const file = join(root, name)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, name)
    chmodSync(file, name.endsWith('.mjs') ? programMode : mode)
  }
  const archive = join(folder, `${place}.tgz`)
  packFolder(root, archive, SECONDS)
  return archive
}

describe('packFolder', () => {
  it('writes contents, modes, owner and time, sorted', () => {
    const names = ['b.txt', 'a.mjs', LONG]
    const archive = pack('one', names, [0o600, 0o700])
    symlinkSync('b.txt', join(folder, 'one/package/link'))
    packFolder(join(folder, 'one/package'), archive, SECONDS)
    const listed = execFileSync('tar', ['-tvzf', archive, '--utc', '--full-time', '--numeric-owner'], {
      encoding: 'utf8',
    })
    const lines = listed.trim().split('\n')
    for (const line of lines) expect(line).toMatch(/ 0\/0 .* 2020-09-13 12:26:40 /)
    const files = lines.filter((line) => !line.startsWith('d'))
    expect(files.map((line) => `${line.slice(0, 10)} ${line.split(' ').at(-1) ?? ''}`)).toEqual([
      '-rwxr-xr-x package/a.mjs',
      '-rw-r--r-- package/b.txt',
      `-rw-r--r-- package/${LONG}`,
      '-rw-r--r-- package/link',
    ])
    const target = join(folder, 'target')
    mkdirSync(target)
    execFileSync('tar', ['-xzf', archive, '-C', target])
    for (const name of names) expect(readFileSync(join(target, 'package', name), 'utf8')).toBe(name)
    expect(readFileSync(join(target, 'package/link'), 'utf8')).toBe('b.txt')
  })

  it('gives the same bytes for another umask, other times and another order of creation', () => {
    const names = ['z', 'sub/a', 'sub-b', 'a', 'start.mjs']
    const one = pack('one', names, [0o644, 0o755])
    const two = pack('another-folder', names.toReversed(), [0o600, 0o700])
    expect(readFileSync(one).equals(readFileSync(two))).toBe(true)
  })

  it('refuses a path that does not fit', () => {
    expect(() => pack('one', [`${'x'.repeat(160)}/${'y'.repeat(120)}`], [0o644, 0o755])).toThrow(/tar/)
  })
})
