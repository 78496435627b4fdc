// oxlint-disable max-lines -- whole processes are started once for all faults
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@chancery/service-kit'
import {
  COMPILE_CACHE,
  accepted,
  createTestNetwork,
  freePort,
  operatorCaller,
  refused,
  send,
  startTemporaryPostgres,
} from '@chancery/testkit'
import type { TestResponse, TestNetwork, TemporaryPostgres } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')

interface Service {
  readonly url: string
  readonly port: number
  readonly child: ChildProcess
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>
  readonly output: () => string
  request(method: string, target: string): Promise<TestResponse>
  publish(policy_id: string): Promise<TestResponse>
}

let folder: string
let network: TestNetwork
const running = new Set<ChildProcess>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-faults-'))
  network = await createTestNetwork('FAULT-NET')
})
afterEach(async () => {
  for (const child of running) {
    const exited = once(child, 'exit')
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await exited
    }
  }
  running.clear()
})
afterAll(async () => {
  await network.remove()
  await rm(folder, { recursive: true, force: true })
})

/** `chancery authority start --env-file FILE`, as an operator runs it. */
function launch(file: string): Pick<Service, 'child' | 'exited' | 'output'> {
  const args = ['--conditions=development', MAIN, 'authority', 'start', '--env-file', file]
  const child = spawn(process.execPath, args, { cwd: folder, env: COMPILE_CACHE, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const exited = once(child, 'exit').then(([code, signal]) => (code as number | null) ?? (signal as string))
  return { child, exited, output: () => Buffer.concat(chunks).toString() }
}

async function writeSettings(settings: Readonly<Record<string, string>>): Promise<string> {
  const file = join(await mkdtemp(join(folder, 'settings-')), 'authority.env')
  const all = { ...network.settings, ...settings }
  await writeFile(
    file,
    Object.entries(all)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  )
  return file
}

async function startService(settings: Readonly<Record<string, string>>): Promise<Service> {
  const port = await freePort()
  const file = await writeSettings({ HOST: '127.0.0.1', PORT: String(port), ...settings })
  const { child, exited, output } = launch(file)
  const url = `http://127.0.0.1:${port}`
  await until('the start', 30_000, async () => {
    if (child.exitCode !== null) throw new Error(`it ended at its start: ${output()}`)
    return (await send(url, 'GET', '/readyz').catch(() => undefined))?.status === 200
  })
  const operator = operatorCaller(url, network.operators.privileged, network.authority.publicKey, () =>
    systemClock.now(),
  )
  return {
    url,
    port,
    child,
    exited,
    output,
    request: (method, target) => send(url, method, target),
    publish: (policy_id) => operator('POST', '/admin/policy', { policy_id }),
  }
}

async function until(what: string, limitMs: number, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what} took more than ${limitMs} ms`)
    await pause(25)
  }
}

async function policyIds(service: Service): Promise<string[]> {
  const operator = operatorCaller(service.url, network.operators.standard, network.authority.publicKey, () =>
    systemClock.now(),
  )
  const { versions } = accepted(await operator('GET', '/admin/policy/history')) as unknown as {
    versions: { policy_id: string; active: boolean }[]
  }
  expect(versions.filter(({ active }) => active)).toHaveLength(1)
  return versions.map(({ policy_id }) => policy_id)
}

describe('PostgreSQL goes away', () => {
  let postgres: TemporaryPostgres
  beforeAll(async () => {
    postgres = await startTemporaryPostgres()
  })
  afterAll(() => postgres.remove())

  it('the service says not ready, serves what it holds, decides nothing, and is ready again without a restart', async () => {
    const service = await startService({ DATABASE_URL: postgres.url })
    const paths = ['/crl', '/policy', '/genesis']
    const before = await Promise.all(paths.map((path) => service.request('GET', path)))
    for (const answer of before) accepted(answer)
    const { instance } = accepted(await service.request('GET', '/readyz'))

    await postgres.stop()
    const started = performance.now()
    const { details } = refused(await service.request('GET', '/readyz'), 503, 'service_not_ready') as {
      details: Record<string, unknown>
    }
    expect(performance.now() - started).toBeLessThan(2000)
    expect(Object.keys(details).sort()).toEqual([
      'database',
      'ha_mode',
      'instance',
      'rate_limiter',
      'reasons',
      'signing_key',
    ])
    expect(details['database']).toMatchObject({
      backend: 'postgres',
      writable: false,
      error: expect.stringMatching(/^\w{1,40}$/),
    })
    expect(details['instance']).toBe(instance)
    accepted(await service.request('GET', '/healthz'))
    accepted(await service.request('GET', '/health'))
    for (const [i, path] of paths.entries())
      expect((await service.request('GET', path)).text, path).toBe(before[i]?.text)
    refused(await service.publish('while-away'), 503, 'service_unavailable')
    refused(await service.publish('while-away'), 503, 'service_unavailable')

    await postgres.start()
    await until('readiness', 5000, async () => (await service.request('GET', '/readyz')).status === 200)
    expect(accepted(await service.request('GET', '/readyz'))['instance']).toBe(instance)
    accepted(await service.publish('after'), 201)
    expect(accepted(await service.request('GET', '/policy'))['policy_id']).toBe('after')
    expect(await policyIds(service)).not.toContain('while-away')
    service.child.kill('SIGTERM')
    expect(await service.exited).toBe(0)
  })

  it('crashing under writers, it takes no acked policy with it, and the service lives on', async () => {
    await postgres.start().catch(() => undefined)
    const service = await startService({ DATABASE_URL: postgres.url })
    const acked: string[] = []
    const statuses = new Set<number>()
    let stop = false
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      for (let i = 0; !stop; i += 1) {
        const id = `w${writer}-${i}`
        const answer = await service.publish(id)
        statuses.add(answer.status)
        if (answer.status === 201) acked.push(id)
        else await pause(20)
      }
    })
    const written = Promise.all(writers)
    const moreAcks = async (count: number): Promise<void> => {
      const enough = acked.length + count
      // A writer whose request fails ends the test at once: the service must answer throughout.
      await Promise.race([written, until('writing', 20_000, async () => acked.length >= enough)])
    }
    try {
      for (let round = 0; round < 2; round += 1) {
        await moreAcks(60)
        await postgres.stop('immediate')
        await pause(200)
        await postgres.start()
      }
      await moreAcks(20)
      stop = true
      await written
    } catch (error) {
      stop = true
      throw new Error(`the service did not answer; it said: ${service.output().slice(-1500)}`, { cause: error })
    }
    expect(service.child.exitCode).toBeNull()
    for (const status of statuses) expect([201, 503]).toContain(status)
    expect(statuses).toContain(503)
    const kept = new Set(await policyIds(service))
    expect(acked.filter((id) => !kept.has(id))).toEqual([])
    expect(accepted(await service.request('GET', '/readyz'))['status']).toBe('ready')
    service.child.kill('SIGTERM')
    expect(await service.exited).toBe(0)
  })
})

describe('SIGKILL', () => {
  it('under writers takes no acked policy with it', async () => {
    const settings = { DB_PATH: join(folder, 'killed.db') }
    const first = await startService(settings)
    const acked: string[] = []
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; ; i += 1) {
        const id = `w${writer}-${i}`
        const answer = await first.publish(id).catch(() => undefined)
        if (answer === undefined) return
        if (answer.status === 201) acked.push(id)
      }
    })
    await until('writing', 20_000, async () => acked.length >= 100)
    first.child.kill('SIGKILL')
    await Promise.all(writers)
    expect(await first.exited).toBe('SIGKILL')
    const second = await startService(settings)
    const kept = new Set(await policyIds(second))
    expect(acked.filter((id) => !kept.has(id))).toEqual([])
  })
})

/** Sends on one connection until the server announces its close; any failed request throws. */
async function sendUntilClosed(port: number, sent: { count: number }): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    for (;;) {
      const connection = await new Promise<string | undefined>((resolve, reject) => {
        const call = httpRequest({ port, host: '127.0.0.1', path: '/policy', agent }, (answer) => {
          answer.resume()
          answer.on('error', reject)
          answer.on('end', () =>
            answer.statusCode === 200
              ? resolve(answer.headers.connection)
              : reject(new Error(`answered ${answer.statusCode}`)),
          )
        })
        call.on('error', reject)
        call.end()
      })
      sent.count += 1
      if (connection === 'close') return connection
    }
  } finally {
    agent.destroy()
  }
}

describe('SIGTERM', () => {
  it('under load fails no request: not ready at once, served on, drained, exit 0', async () => {
    const service = await startService({ DB_PATH: join(folder, 'drained.db'), NA_DRAIN_SECONDS: '2' })
    const sent = { count: 0 }
    const clients = Array.from({ length: 20 }, () => sendUntilClosed(service.port, sent))
    await until('load', 10_000, async () => sent.count > 500)
    service.child.kill('SIGTERM')
    await until('turning not ready', 1900, async () => (await service.request('GET', '/readyz')).status === 503)
    // A client that connects now gets its response, and the connection is closed after it.
    const late = { count: 0 }
    expect(await sendUntilClosed(service.port, late)).toBe('close')
    expect(late.count).toBe(1)
    expect(await Promise.all(clients)).toEqual(Array<string>(20).fill('close'))
    expect(await service.exited).toBe(0)
  })

  it('lets a request that is still arriving be answered', async () => {
    const service = await startService({ DB_PATH: join(folder, 'arriving.db') })
    const socket = connect({ port: service.port, host: '127.0.0.1' })
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write('POST /admin/policy HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{')
    await pause(100)
    service.child.kill('SIGTERM')
    await pause(700)
    socket.write('}')
    await once(socket, 'close')
    const text = Buffer.concat(chunks).toString()
    expect(text).toMatch(/^HTTP\/1\.1 401 /)
    expect(text).toMatch(/"admin_auth_failed"/)
    expect(text).toMatch(/connection: close/i)
    expect(await service.exited).toBe(0)
  })

  it('a second one ends it at once with 1', async () => {
    const service = await startService({ DB_PATH: join(folder, 'second.db'), NA_DRAIN_SECONDS: '60' })
    service.child.kill('SIGTERM')
    await until('turning not ready', 2000, async () => (await service.request('GET', '/readyz')).status === 503)
    expect(service.child.exitCode).toBeNull()
    const started = performance.now()
    service.child.kill('SIGTERM')
    expect(await service.exited).toBe(1)
    expect(performance.now() - started).toBeLessThan(2000)
  })
})

describe('a start that is refused', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    ['an unknown setting', { NA_TYPO: 'x' }, /NA_TYPO/],
    ['a number that is none', { PORT: 'https' }, /PORT/],
    ['a genesis file that is not there', { GENESIS_FILE: '/nowhere/genesis.json' }, /GENESIS_FILE/],
  ])('for %s ends with 78 and one line that names the setting', async (_what, settings, named) => {
    const file = await writeSettings({ PORT: '0', DB_PATH: join(folder, 'refused.db'), ...settings })
    const { exited, output } = launch(file)
    expect(await exited).toBe(78)
    const said = output()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('{'))
    expect(
      said.filter((line) => named.test(line)),
      output(),
    ).toHaveLength(1)
    expect(output()).not.toMatch(/\n\s+at .*\.ts:\d+/)
  })

  it('for a settings file that is not there ends with a failure that names it', async () => {
    const { exited, output } = launch('/nowhere/authority.env')
    // Node itself looks for the file of every --env-file on the line and ends with 9.
    expect([1, 9]).toContain(await exited)
    expect(output()).toContain('/nowhere/authority.env')
  })
})

describe('a port that another program uses', () => {
  it('ends the start with one line that names the setting', async () => {
    const first = await startService({ DB_PATH: join(folder, 'first.db') })
    const file = await writeSettings({
      HOST: '127.0.0.1',
      PORT: String(first.port),
      DB_PATH: join(folder, 'second.db'),
    })
    const { exited, output } = launch(file)
    expect(await exited).toBe(1)
    expect(output()).toContain(
      `chancery: the authority does not start: PORT: ${first.port} is in use on 127.0.0.1: stop what listens there, or choose another port\n`,
    )
  })
})
