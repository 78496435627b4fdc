import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { decode } from 'cborg'
import { type JsonObject, writeJson, writeLogKey, writePrivateKeyFile } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { COMPILE_CACHE, accepted, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestContext } from '../../apps/cli/src/testing/run-command.suite.ts'
import { EvidenceScenario } from '../campaigns/evidence/scenario.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')
const NETWORKS = ['ALPHA-NET', 'BETA-NET'] as const
type Network = (typeof NETWORKS)[number]

/** A network: its authority, and the witness that it runs for the other one. */
interface Party {
  readonly origin: string
  readonly witness: { readonly child: ChildProcess; readonly lines: string[] }
  na: TestAuthority
}

let context: TestContext
let folder = ''
const parties = new Map<Network, Party>()
const settingsOf = new Map<Network, Readonly<Record<string, string>>>()

/** Starts the program from its sources in a separate process. */
function start(line: string): ChildProcess {
  return spawn(process.execPath, ['--conditions=development', MAIN, ...line.split(' ')], {
    cwd: folder,
    env: { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs a command in this process: each in a separate one would take a second. */
async function chancery(line: string): Promise<{ code: number; out: string; error: string }> {
  const { code, stdout, stderr } = await context.run(line, { now: () => systemClock.now() })
  return { code, out: stdout, error: stderr }
}

/** The witness that `runs` starts for the log of the other network. */
async function startWitness(runs: Network, log: Network): Promise<Party['witness'] & { readonly setting: string }> {
  const name = runs.toLowerCase()
  const { publicKey } = await testSigner('log', `log ${log}`)
  await writeFile(
    join(folder, `${name}.logs`),
    `# logs of others\nlog ${writeLogKey({ name: originOf(log), publicKey })}\n`,
  )
  await writeFile(
    join(folder, `${name}.witness.key`),
    writePrivateKeyFile(testSeed(`witness ${runs}`), `${name}.example`),
    {
      mode: 0o600,
    },
  )
  const flags = `--state ${name}.state --logs ${name}.logs --key ${name}.witness.key --init --json`
  const child = start(`evidence witness --listen 127.0.0.1:0 ${flags}`)
  const lines: string[] = []
  if (child.stdout === null) throw new Error('no output')
  const reader = createInterface(child.stdout)
  reader.on('line', (line) => lines.push(line))
  await once(reader, 'line')
  const { url, verifier_key } = JSON.parse(lines[0] ?? '{}') as { url: string; verifier_key: string }
  return { child, lines, setting: `${verifier_key} ${url}` }
}

function originOf(network: Network): string {
  return `${network.toLowerCase()}.example/evidence-log`
}

/** An authority on an empty database, with the keys of its network. */
async function startAuthority(network: Network): Promise<TestAuthority> {
  const na = await startTestAuthority({ network, settings: settingsOf.get(network) ?? {} })
  await writeFile(join(folder, `${network}.json`), writeJson(na.genesis))
  const config = `[network]\nna_endpoint = "${na.url}"\n[paths]\ngenesis = "${network}.json"\noperator_private_key = "op.key"\n`
  await mkdir(join(folder, network), { recursive: true })
  for (const file of [`${network}.json`, 'op.key']) await copyFile(join(folder, file), join(folder, network, file))
  await writeFile(join(folder, network, 'chancery.toml'), config)
  return na
}

async function decide(na: TestAuthority, count: number): Promise<void> {
  const operator = na.as('privileged')
  const scenario = await EvidenceScenario.open({
    request: (method, target, options) => na.request(method, target, options),
    operator: (method, target, body) => operator(method, target, body),
  })
  for (let at = 0; at < count; at += 1) await scenario.decide()
  await na.features.evidenceLog.append()
}

beforeAll(async () => {
  context = await TestContext.make()
  folder = context.folder
  await writeFile(join(folder, 'op.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'), {
    mode: 0o600,
  })
  for (const network of NETWORKS) {
    const other = network === 'ALPHA-NET' ? 'BETA-NET' : 'ALPHA-NET'
    const file = join(folder, `${network}.log.key`)
    await writeFile(file, writePrivateKeyFile(testSeed(`log ${network}`), 'log'), { mode: 0o600 })
    const { setting, ...witness } = await startWitness(other, network)
    settingsOf.set(network, {
      EVIDENCE_STORE: 'on',
      NA_ANCHOR_INTERVAL_SECONDS: '0',
      NA_LOG_ORIGIN: originOf(network),
      NA_LOG_PRIVATE_KEY_FILES: file,
      NA_LOG_WITNESSES: setting,
    })
    parties.set(network, { origin: originOf(network), witness, na: await startAuthority(network) })
  }
})

afterAll(async () => {
  for (const { na, witness } of parties.values()) {
    await na.stop()
    witness.child.kill('SIGTERM')
    if (witness.child.exitCode === null && witness.child.signalCode === null) await once(witness.child, 'exit')
  }
  await context.remove()
})

function partyOf(network: Network): Party {
  const party = parties.get(network)
  if (party === undefined) throw new Error(`${network} is not started`)
  return party
}

const statesOf = async (na: TestAuthority): Promise<JsonObject> =>
  accepted(await na.as('standard')('GET', '/admin/evidence-log/witnesses'))

it('two authorities witness each other: the job asks, and serves the cosigned checkpoint', async () => {
  for (const network of NETWORKS) {
    const { na, origin } = partyOf(network)
    await decide(na, 3)
    await expect.poll(() => statesOf(na), { timeout: 30_000 }).toMatchObject({ cosigners: 1, pending_since: null })
    const note = (await na.request('GET', '/evidence-log/cosigned-checkpoint')).text
    expect(note.split('\n')[0]).toBe(origin)
    // The log key, the authority, the witness of the other network.
    expect(note.split('\n').filter((line) => line.startsWith('\u2014 '))).toHaveLength(3)
  }
  const shown = await chancery('evidence witnesses --out alpha.policy --home ALPHA-NET')
  expect([shown.code, shown.error]).toEqual([0, ''])
  expect(shown.out).toContain('quorum 1')
})

it('receipts and packs of a decision verify offline with the policy, and not with another one', async () => {
  const { na } = partyOf('ALPHA-NET')
  const page = accepted(await na.as('standard')('GET', '/admin/evidence?entry_kind=decision&limit=1'))
  const [{ entry }] = page['entries'] as [{ entry: { decision_id: string } }]
  const id = entry.decision_id
  const made = await chancery(`evidence receipt ${id} --out d.tlog-proof --line d.line --home ALPHA-NET`)
  expect([made.code, made.error]).toEqual([0, ''])
  const verified = await chancery('verify d.tlog-proof --with alpha.policy --with d.line --json')
  expect(JSON.parse(verified.out)).toMatchObject({ valid: true, decision_id: id, cosigners: ['beta-net.example'] })
  const text = await readFile(join(folder, 'd.tlog-proof'), 'utf8')
  expect(text.startsWith('c2sp.org/tlog-proof@v1\nextra ')).toBe(true)
  const without = text
    .split('\n')
    .filter((line) => !line.includes('beta-net.example'))
    .join('\n')
  await writeFile(join(folder, 'alone.tlog-proof'), without)
  const alone = await chancery('verify alone.tlog-proof --with alpha.policy --json')
  expect([alone.code, JSON.parse(alone.out)]).toEqual([1, expect.objectContaining({ reason: 'quorum_not_met' })])
  await writeFile(
    join(folder, 'moved.tlog-proof'),
    text.replace(/^index (\d+)$/m, (_, at: string) => `index ${Number(at) + 2}`),
  )
  expect((await chancery('verify moved.tlog-proof --with alpha.policy')).code).toBe(1)

  const cose = await chancery(`evidence receipt ${id} --form cose --out d.cose --home ALPHA-NET`)
  expect([cose.code, cose.error]).toEqual([0, ''])
  const answer = accepted(await na.request('GET', '/evidence-log'))
  await writeFile(join(folder, 'log.json'), writeJson(answer))
  const flags = '--genesis ALPHA-NET.json --log-identity log.json'
  const checked = await chancery(`verify d.cose --with d.line ${flags} --json`)
  expect(JSON.parse(checked.out)).toMatchObject({ valid: true, kind: 'cose', decision_id: id })
  expect((await chancery(`verify receipt d.cose --digest ${'0'.repeat(64)} ${flags}`)).code).toBe(1)
  expect((await chancery('verify d.cose --with d.line --genesis BETA-NET.json')).code).toBe(1)
  // The second implementation reads the same bytes.
  const bytes = await readFile(join(folder, 'd.cose'))
  const [, , payload] = decode(bytes, {
    useMaps: true,
    tags: { 18: (read: () => unknown) => read() },
  }) as unknown[]
  expect(payload).toBeNull()

  const pack = await chancery(`evidence pack ${id} --out pack.json --home ALPHA-NET`)
  expect([pack.code, pack.error]).toEqual([0, ''])
  const report = await chancery('verify pack.json --genesis ALPHA-NET.json --json')
  const { valid, checks } = JSON.parse(report.out) as {
    valid: boolean
    checks: readonly { name: string; status: string }[]
  }
  expect([report.code, valid]).toEqual([0, true])
  for (const name of ['inclusion', 'witnesses'])
    expect(checks.find((check) => check.name === name)?.status).toBe('passed')
})

it('a log that lost its database is refused by the witness, alarms, and signs nothing more', async () => {
  const party = partyOf('BETA-NET')
  await party.na.stop()
  party.na = await startAuthority('BETA-NET')
  const { na } = party
  await decide(na, 1)
  const alarmed = { alarm: 'rolled_back', proven: true }
  await expect
    .poll(async () => (await statesOf(na))['witnesses'], { timeout: 30_000 })
    .toEqual([expect.objectContaining(alarmed)])
  const shown = await chancery('evidence witnesses --home BETA-NET')
  expect([shown.code, shown.out]).toEqual([1, expect.stringContaining('THE LOG WAS ROLLED BACK')])
  await expect(decide(na, 1)).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(await na.auditEvents('evidence_log_witness_alarm')).toHaveLength(1)
  const refused = party.witness.lines.map((line) => JSON.parse(line) as { event: string })
  expect(refused.map(({ event }) => event)).toContain('refused')
})

it('a killed witness continues from what it stored', async () => {
  const { witness } = partyOf('ALPHA-NET')
  witness.child.kill('SIGKILL')
  await once(witness.child, 'exit')
  const flags = '--state beta-net.state --logs beta-net.logs --key beta-net.witness.key'
  const again = await chancery(`evidence witness --listen 127.0.0.1:0 ${flags} --init`)
  expect([again.code, again.error]).toEqual([1, expect.stringContaining('has the state of a witness already')])
  const missing = await chancery(
    `evidence witness --listen 127.0.0.1:0 ${flags.replace('beta-net.state', 'other.state')}`,
  )
  expect([missing.code, missing.error]).toEqual([1, expect.stringContaining('has no state of a witness')])
})
