import { execFile } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writePublicKeyFile } from '@chancery/protocol'
import { COMPILE_CACHE, type TestAuthority, freePort, sendGatewayRequest, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'

const PROGRAM = join(import.meta.dirname, '../../apps/cli/bin/chancery.mjs')
// Each test starts several programs, which takes long on a loaded machine.
vi.setConfig({ testTimeout: 240_000 })

let na: TestAuthority
let folder = ''
let url = ''
let port = 0

beforeAll(async () => {
  na = await startTestAuthority({ network: 'TEST-NET' })
  folder = await mkdtemp(join(tmpdir(), 'chancery-gateway-init-'))
  await writeFile(join(folder, 'root.pub'), writePublicKeyFile(na.genesis.root_public_key, 'rs-test'))
  port = await freePort()
  url = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  await stop().catch(() => undefined)
  await na.stop()
  await rm(folder, { recursive: true, force: true })
})

const read = (name: string): Promise<string> => readFile(join(folder, 'gateway', name), 'utf8')
const START = 'gateway start --env-file gateway/gateway.env --detach'

/** Runs the built program, as a reader does. Returns its exit code and what it prints. */
async function run(line: string): Promise<{ readonly code: number; readonly text: string }> {
  const options = { cwd: folder, env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder } }
  const ended = promisify(execFile)(process.execPath, [PROGRAM, ...line.split(' ')], options)
  return ended.then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      text: error.stdout + error.stderr,
    }),
  )
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Ends the gateway with the id in its file, as the printed command does. */
async function stop(): Promise<void> {
  const pid = Number(await read('gateway.pid'))
  if (isRunning(pid)) process.kill(pid)
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 40_000, interval: 50 })
}

/** Sends one request of the client, and returns the gateway's log of this start after the gateway has ended. */
async function logOfOneRequest(): Promise<string> {
  const before = (await read('gateway.log').catch(() => '')).length
  const started = await run(START)
  expect(started, started.text).toMatchObject({ code: 0 })
  const token = (await read('caller.token')).trim()
  expect((await sendGatewayRequest(url, 'GET', '/v1/networks', { token })).status).toBe(200)
  await stop()
  return (await read('gateway.log')).slice(before)
}

it('gateway init --detach leaves a ready gateway, and prints its log and how to stop it', async () => {
  const made = await run(`gateway init --url ${na.url} --root-key root.pub --home gateway --port ${port} --detach`)
  expect(made).toEqual({ code: 0, text: expect.stringContaining('Made a gateway for TEST-NET in ./gateway.') })
  expect(made.text).toContain(
    'The gateway runs. Its log is ./gateway/gateway.log. Stop it with: kill $(cat ./gateway/gateway.pid)',
  )
  expect((await sendGatewayRequest(url, 'GET', '/ready', {})).status).toBe(200)
  // The same port: the other gateway must not pass for the one that was to start.
  expect(await run(START)).toEqual({ code: 1, text: expect.stringContaining(`uses ${url}`) })
  await stop()
  expect(await read('gateway.log')).toContain('"event":"stopped"')
})

it('gateway init --detach creates nothing when another program uses the port', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
  const made = await run(`gateway init --url ${na.url} --root-key root.pub --home second --port ${port} --detach`)
  await new Promise((resolve) => other.close(resolve))
  expect(made).toEqual({ code: 1, text: expect.stringContaining(`uses ${url}`) })
  await expect(readFile(join(folder, 'second/policy.json'))).rejects.toMatchObject({ code: 'ENOENT' })
})

it('gateway start --detach starts it again, with a line for each request at the default level', async () => {
  expect(await logOfOneRequest()).toContain('"event":"request completed"')
})

it('GATEWAY_LOG_LEVEL=error does not turn off these lines: they are records (protocol/gateway 16.1)', async () => {
  await appendFile(join(folder, 'gateway/gateway.env'), 'GATEWAY_LOG_LEVEL=error\n')
  expect(await logOfOneRequest()).toContain('"event":"request completed"')
})

it('gateway start --detach names the log of a gateway that ends during its start', async () => {
  await writeFile(join(folder, 'gateway/policy.json'), '{')
  const failed = await run(START)
  expect(failed).toEqual({ code: 1, text: expect.stringContaining('The gateway ended during its start.') })
  expect(failed.text).toContain('Read ./gateway/gateway.log and fix the cause.')
  expect(await read('gateway.log')).toContain('the gateway does not start: GATEWAY_POLICY_FILE')
})
