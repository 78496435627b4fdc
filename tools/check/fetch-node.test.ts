import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { packFolder } from '../release/tar.ts'

/** `.ci/fetch-node` with a registry that gives an archive of the test. */

const ROOT = join(import.meta.dirname, '..', '..')
const PACKAGE = `node-linux-${process.arch}`
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-node-'))
  mkdirSync(join(folder, 'programs'))
  writeFileSync(join(folder, 'programs/npm'), '#!/bin/sh\necho "$@" >"$CALLS"; cp "$ARCHIVE" a.tgz; echo a.tgz\n')
  chmodSync(join(folder, 'programs/npm'), 0o755)
})
afterEach(() => rmSync(folder, { recursive: true }))

function fetchNode(served: string) {
  const archive = join(folder, 'served.tgz')
  const pack = (text: string) => {
    mkdirSync(join(folder, 'package/bin'), { recursive: true })
    writeFileSync(join(folder, 'package/bin/node'), text)
    packFolder(join(folder, 'package'), archive, 0)
    return readFileSync(archive)
  }
  const integrity = `sha512-${createHash('sha512').update(pack('node of the lock file')).digest('base64')}`
  const packages = { [`node_modules/${PACKAGE}`]: { version: '26.0.0', integrity } }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }))
  pack(served)
  const env = {
    PATH: `${join(folder, 'programs')}:${dirname(process.execPath)}:/usr/bin:/bin`,
    ARCHIVE: archive,
    CALLS: join(folder, 'calls'),
  }
  return spawnSync(join(ROOT, '.ci/fetch-node'), [join(folder, 'made')], { cwd: folder, env, encoding: 'utf8' })
}

describe('.ci/fetch-node', () => {
  it('unpacks the Node.js of the lock file', () => {
    const { status, stderr } = fetchNode('node of the lock file')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(readFileSync(join(folder, 'made/bin/node'), 'utf8')).toBe('node of the lock file')
    expect(readFileSync(join(folder, 'calls'), 'utf8')).toContain(`${PACKAGE}@26.0.0`)
  })

  it('refuses another one, and unpacks nothing of it', () => {
    const { status, stderr } = fetchNode('node of a mirror')
    expect(status).toBe(1)
    expect(stderr).toMatch(/@26\.0\.0 has sha512-.+ instead of sha512-/)
    expect(existsSync(join(folder, 'made'))).toBe(false)
  })

  it.each(['.ci/run', '.devcontainer/Dockerfile'])('is the only way in which %s fetches packages by name', (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    expect(text).toContain('fetch-node')
    expect(text).not.toMatch(/npm (install|i|exec|pack)\b|npx|curl -|wget/)
  })
})
