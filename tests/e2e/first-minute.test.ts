import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { accepted, createTestNetwork, freePort, send } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)
const CLI = join(import.meta.dirname, '..', '..', 'apps', 'cli')
const PROGRAM = join(CLI, 'bin', 'chancery.mjs')

// The built program, as it is installed: the check builds before it tests.
describe.runIf(existsSync(join(CLI, 'dist', 'main.js')))('the first minute', () => {
  it.each(['authority start --env-file nope.env', 'gateway start --check-config --env-file=nope.env'])(
    'says in its own words that a file of settings is missing: %s',
    async (line) => {
      // Run as the file itself, as npm links it: that is where Node.js would take the flag for its own.
      const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` }
      const ended = await run(PROGRAM, line.split(' '), { cwd: tmpdir(), env }).catch((error: unknown) => error)
      expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('nope.env cannot be read') })
    },
  )

  it('refuses several workers on SQLite, with what to do, before it opens a database', async () => {
    const network = await createTestNetwork('WORKERS-REFUSED')
    const folder = await mkdtemp(join(tmpdir(), 'chancery-refused-'))
    const dbPath = join(folder, 'na.db')
    const path = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`
    const env = { ...network.settings, PATH: path, DB_PATH: dbPath, NA_WORKERS: '2' }
    const ended = await run(PROGRAM, ['authority', 'start'], { cwd: folder, env }).catch((error: unknown) => error)
    expect(ended).toMatchObject({
      code: 78,
      stderr: expect.stringContaining(
        'NA_WORKERS: several workers need PostgreSQL: set DATABASE_URL=postgresql://…, or set NA_WORKERS=1',
      ),
    })
    expect(existsSync(dbPath)).toBe(false)
    await network.remove()
    await rm(folder, { recursive: true })
  })

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

    // Variables in addition to the file, as a shell or Kubernetes may set them: logged, and the start succeeds.
    const env = {
      ...options.env,
      PORT: '1',
      GENESIS_FILE: join(folder, 'na', 'genesis.json').replace('/na/', '/./na/'),
      NA_X_SERVICE_HOST: 'x',
    }
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    const service = spawn(process.execPath, [PROGRAM, ...words(next[0])], { ...options, env, stdio: [...stdio] })
    let log = ''
    service.stdout?.on('data', (chunk: Buffer) => (log += chunk.toString()))
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
      expect(log).toContain('PORT: the environment is not used')
      expect(log).toContain('GENESIS_FILE: the environment overrules the settings file')
      expect(log).toContain('NA_X_SERVICE_HOST: is in the environment, and there is no such setting')
    } finally {
      service.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('up gives a running authority with its console, and Ctrl-C stops it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-up-'))
    const port = await freePort()
    const service = spawn(
      process.execPath,
      [PROGRAM, 'up', '--home', 'na', '--network', 'TEAM-NET', '--port', String(port), '--sheet', 'sheet.txt'],
      { cwd: folder, env: { PATH: process.env['PATH'] ?? '', HOME: folder }, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const exited = once(service, 'exit')
    try {
      let output = ''
      for await (const chunk of service.stdout) {
        output += String(chunk)
        if (output.includes('press Ctrl-C')) break
      }
      expect(output).toContain(`Console: http://127.0.0.1:${port}/`)
      expect((await send(`http://127.0.0.1:${port}`, 'GET', '/readyz')).status).toBe(200)
      service.kill('SIGINT')
      expect((await exited)[0]).toBe(0)
    } finally {
      service.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  })
})
