import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { accepted, freePort, send } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)
const CLI = join(import.meta.dirname, '..', '..', 'apps', 'cli')
const PROGRAM = join(CLI, 'bin', 'chancery.mjs')

// The built program, as it is installed: the check builds before it tests.
describe.runIf(existsSync(join(CLI, 'dist', 'main.js')))('the first minute', () => {
  it('init, then what init says next, gives a ready authority that the commands can talk to', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-first-'))
    const port = await freePort()
    const options = { cwd: folder, env: { PATH: process.env['PATH'] ?? '', HOME: folder } }
    const made = await run(
      process.execPath,
      [PROGRAM, '--json', 'init', '--home', join(folder, 'na'), '--network', 'FIRST-NET', '--port', String(port)],
      options,
    )
    const { next } = JSON.parse(made.stdout) as { next: string[] }
    const words = (line = ''): string[] => line.split(' ').slice(1)

    const service = spawn(process.execPath, [PROGRAM, ...words(next[0])], { ...options, stdio: 'ignore' })
    const exited = once(service, 'exit')
    try {
      const url = `http://127.0.0.1:${port}`
      const end = performance.now() + 30_000
      for (;;) {
        const answer = await send(url, 'GET', '/readyz').catch(() => undefined)
        if (answer?.status === 200) break
        if (service.exitCode !== null || performance.now() > end) throw new Error('the authority did not become ready')
        await pause(50)
      }
      expect(accepted(await send(url, 'GET', '/sovereign.json'))['sovereign_id']).toBe('FIRST-NET')
      const shown = await run(process.execPath, [PROGRAM, ...words(next[1])], options)
      expect(shown.stdout).toContain('policy-FIRST-NET-v0.1')
      service.kill('SIGTERM')
      expect((await exited)[0]).toBe(0)
    } finally {
      service.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  })
})
