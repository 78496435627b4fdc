import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PLATFORMS } from '../../tools/release/image/platforms.ts'
import { stageRuntime } from '../../tools/release/image/runtime-files.ts'

/**
 * The library on another processor, emulated. The steps image-try and image-arm64 run services and commands of the image
 * there.
 */

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const QEMU = 'qemu-aarch64-static'
const hasQemu = process.arch === 'x64' && spawnSync(QEMU, ['--version']).status === 0
const platform = PLATFORMS.find(({ architecture }) => architecture === 'arm64')

describe.runIf(hasQemu)('on arm64', () => {
  let folder = ''
  let system = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-arm64-'))
    system = join(folder, 'root')
    if (platform === undefined) throw new Error('there is no such platform')
    await stageRuntime(platform, join(folder, 'work'), system)
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const node = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<{ stdout: string }> =>
    run(QEMU, ['-L', system, join(system, 'usr/bin/node'), ...args], {
      cwd: ROOT,
      // The programs of this machine are for another processor, but the emulator is one of them.
      env: { PATH: process.env['PATH'] ?? '', ...env },
    })

  it.each(['off', 'on'])(
    'every verify vector holds, with CHANCERY_NATIVE=%s',
    async (native) => {
      const script = join(ROOT, 'tests/node-24/verify-vectors.ts')
      const { stdout } = await node(['--conditions=development', script], { CHANCERY_NATIVE: native })
      expect(stdout).toMatch(/"passed":147,"failures":\[\],"weakKeys":\{"cases":12544,"accepted":0\}/)
    },
    1_200_000,
  )

  it('libsodium is loaded where it is not turned off', async () => {
    const script = "require('sodium-native'); console.log(process.arch)"
    const { stdout } = await node(['-e', script], {})
    expect(stdout).toBe('arm64\n')
  }, 120_000)
})
