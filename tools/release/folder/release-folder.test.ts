import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalJson, readJson, writePrivateKeyFile } from '@chancery/protocol'
import { TestToken, findTokenObstacle, testSeed } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ReleaseReport, checkRelease, listsOf } from '../../../apps/cli/src/commands/release/check-release.ts'
import { COSIGN_FILE, RELEASE_FILE, SIGSTORE_FILE } from '../../../apps/cli/src/commands/release/release-files.ts'
import { CYCLONE_DX, LOCK, SPDX } from '../../../apps/cli/src/commands/release/small-release.suite.ts'
import { describeBuild, finishBuild, signFolder } from './release-folder.ts'
import { openSigningKey, throwAwayKey } from './signing-key.ts'

const FACTS = { version: '0.2.0', commit: 'c'.repeat(40), seconds: 1_600_000_000, hasImage: false }
const LOCAL = {}
const HOSTED = {
  GITHUB_ACTIONS: 'true',
  GITHUB_SERVER_URL: 'https://github.example',
  GITHUB_REPOSITORY: 'org/chancery',
  GITHUB_REF: 'refs/tags/v0.2.0',
  GITHUB_WORKFLOW_REF: 'org/chancery/.github/workflows/release.yml@refs/tags/v0.2.0',
  GITHUB_RUN_ID: '7',
  GITHUB_RUN_ATTEMPT: '1',
}

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-release-'))
  const { cycloneDx, spdx } = listsOf('0.2.0')
  await write('chancery-cli-0.2.0.tgz', 'package')
  await write('package-lock.json', JSON.stringify(LOCK))
  await write(cycloneDx, JSON.stringify(CYCLONE_DX))
  await write(spdx, JSON.stringify(SPDX))
})
afterEach(() => rm(folder, { recursive: true }))

function write(name: string, text: string): Promise<void> {
  return writeFile(join(folder, name), text)
}

async function check(publicKey: string): Promise<ReleaseReport> {
  return checkRelease(folder, await readFile(join(folder, RELEASE_FILE), 'utf8'), publicKey)
}

describe('a folder that is built and signed', () => {
  it('verifies, also after it is signed again with another key', async () => {
    await finishBuild(folder, FACTS, LOCAL)
    const before = await readFile(join(folder, 'provenance.json'), 'utf8')
    const [first, second] = [await throwAwayKey(), await throwAwayKey()]
    await signFolder(folder, first)
    const report = await check(first.publicKey)
    expect(report.checks.filter(({ status }) => status !== 'passed')).toEqual([])
    expect(report).toMatchObject({ version: '0.2.0', commit: FACTS.commit })
    await write('provenance.json', before)
    await signFolder(folder, second)
    expect((await check(first.publicKey)).checks[0]).toMatchObject({ status: 'failed' })
    expect((await check(second.publicKey)).checks.every(({ status }) => status === 'passed')).toBe(true)
    expect(await readdir(folder)).not.toContain('provenance.json')
  })

  it('takes provenance and signature of the public host, which are added after the build', async () => {
    await finishBuild(folder, FACTS, HOSTED)
    await write(SIGSTORE_FILE, '{}')
    await write(COSIGN_FILE, '{}')
    const key = await throwAwayKey()
    await signFolder(folder, key)
    expect((await check(key.publicKey)).checks.every(({ status }) => status === 'passed')).toBe(true)
  })

  it.each([
    ['a changed artifact', 'chancery-cli-0.2.0.tgz', 'other', /differs from SHA256SUMS/],
    ['an added artifact', 'install.sh', 'other', /differs from SHA256SUMS/],
    ['a provenance that is none', 'provenance.json', '{}', /about other files/],
  ])('is not signed with %s', async (_what, name, text, message) => {
    await finishBuild(folder, FACTS, LOCAL)
    await write(name, text)
    await expect(signFolder(folder, await throwAwayKey())).rejects.toThrow(message)
    expect(await readdir(folder)).not.toContain(RELEASE_FILE)
  })

  it('is signed only when another build of the same commit gave the same files', async () => {
    await finishBuild(folder, FACTS, HOSTED)
    const sums = await readFile(join(folder, 'SHA256SUMS'), 'utf8')
    const other = { version: '0.2.0', commit: FACTS.commit, sums }
    // The host changes an artifact, its checksum and the provenance.
    await write('chancery-cli-0.2.0.tgz', 'other')
    await rm(join(folder, 'SHA256SUMS'))
    await rm(join(folder, 'provenance.json'))
    await finishBuild(folder, FACTS, HOSTED)
    const key = await throwAwayKey()
    await expect(signFolder(folder, key, other)).rejects.toThrow(/differs from that of the other build/)
    const changed = { ...other, sums: await readFile(join(folder, 'SHA256SUMS'), 'utf8') }
    await expect(signFolder(folder, key, { ...changed, commit: 'd'.repeat(40) })).rejects.toThrow(
      /of commit c{40} inst/,
    )
    await expect(signFolder(folder, key, { ...changed, version: '0.3.0' })).rejects.toThrow(/version 0\.2\.0 instead/)
    expect(await readdir(folder)).not.toContain(RELEASE_FILE)
    await signFolder(folder, key, changed)
    expect((await check(key.publicKey)).checks.every(({ status }) => status === 'passed')).toBe(true)
  })

  it('is not signed before it is built', async () => {
    await expect(signFolder(folder, await throwAwayKey())).rejects.toThrow(/npm run release -- --build/)
  })
})

describe('describeBuild', () => {
  const artifacts = [{ name: 'package-lock.json', sha256: 'a'.repeat(64) }]

  it('gives the same text twice, with nothing of the machine', () => {
    const text = describeBuild(artifacts, FACTS, LOCAL)
    expect(describeBuild(artifacts, FACTS, LOCAL)).toBe(text)
    expect(canonicalJson(readJson(text))).toBe(text)
    expect(text).toContain('"id":"urn:chancery:builder:local"')
    expect(text).not.toContain(process.cwd())
  })

  it('names workflow and run of the public host', () => {
    const text = describeBuild(artifacts, FACTS, HOSTED)
    expect(text).toContain('"id":"https://github.example/org/chancery/.github/workflows/release.yml@refs/tags/v0.2.0"')
    expect(text).toContain('"invocationId":"https://github.example/org/chancery/actions/runs/7/attempts/1"')
    expect(text).toContain('"uri":"git+https://github.example/org/chancery@refs/tags/v0.2.0"')
    expect(() => describeBuild(artifacts, FACTS, { ...HOSTED, GITHUB_RUN_ID: '' })).toThrow(/GITHUB_RUN_ID/)
  })
})

describe('openSigningKey', () => {
  it('reads a file of keygen, and refuses another one', async () => {
    const seed = testSeed('release')
    await write('release.key', writePrivateKeyFile(seed, undefined))
    expect(await openSigningKey({ key: join(folder, 'release.key') })).toMatchObject({ keyId: 'release' })
    await expect(openSigningKey({ key: join(folder, 'package-lock.json') })).rejects.toThrow(/private key file/)
    expect(await openSigningKey({})).toBeUndefined()
  })

  it('refuses half a token, and a token with a file', async () => {
    await expect(openSigningKey({ 'pkcs11-key': 'release' })).rejects.toThrow(/--pkcs11-module/)
    await expect(openSigningKey({ 'pkcs11-key': 'release', key: 'x' })).rejects.toThrow(/not both/)
  })

  it.skipIf(findTokenObstacle() !== undefined)('signs with a key that stays in a PKCS#11 token', async () => {
    const token = new TestToken()
    const before = process.env['SOFTHSM2_CONF']
    process.env['SOFTHSM2_CONF'] = token.configFile
    try {
      token.generate('release', '--id', '01')
      await finishBuild(folder, FACTS, LOCAL)
      const pin = await mkdtemp(join(tmpdir(), 'chancery-pin-'))
      await writeFile(join(pin, 'pin'), `${token.pin}\n`)
      const key = await openSigningKey({
        'pkcs11-module': token.modulePath,
        'pkcs11-token': 'chancery-test',
        'pkcs11-key': 'release',
        'pkcs11-pin-file': join(pin, 'pin'),
      })
      await rm(pin, { recursive: true })
      if (key === undefined) throw new Error('no key')
      await signFolder(folder, key)
      expect((await check(key.publicKey)).checks.every(({ status }) => status === 'passed')).toBe(true)
    } finally {
      if (before === undefined) delete process.env['SOFTHSM2_CONF']
      else process.env['SOFTHSM2_CONF'] = before
      token.remove()
    }
  })
})
