// oxlint-disable max-lines -- all steps of the scenario use the same processes and folders
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, copyFile, mkdir, mkdtemp, open, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readAuthoritySettings, startAuthority } from '@chancery/authority'
import { type JsonObject, readGenesisBlock, readJson, readPrivateKeyFile, seedSigner } from '@chancery/protocol'
import { type NetworkNode, joinNetwork } from '@chancery/sdk'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'
import { wimse } from '@chancery/sdk/wimse'
import { requireValues, silentLog, systemClock } from '@chancery/service-kit'
import {
  COMPILE_CACHE,
  ManualClock,
  TestCa,
  accepted,
  createTestDatabase,
  freePort,
  operatorCaller,
  startTemporaryNats,
} from '@chancery/testkit'
import type { TemporaryNats, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startOidcProvider } from '../../apps/authority/src/features/admission/oidc-provider.suite.ts'
import type { OidcProvider } from '../../apps/authority/src/features/admission/oidc-provider.suite.ts'
import { verifyWithSigstore } from '../../apps/cli/src/commands/evidence/sigstore.suite.ts'
import { askCheck } from '../../apps/gateway/src/features/check/checked-gateway.suite.ts'
import { problemsOf } from '../../packages/contract/src/audit-formats/schemas.suite.ts'
import { readStream } from '../campaigns/audit/forward.ts'

/**
 * One scenario with real processes, by the commands that people type. A machine joins ALPHA by a token of its platform.
 * BETA, a partner, verifies its agent card and decides on its request. Both logs witness each other. An auditor without
 * network verifies what was decided. Then ALPHA revokes the machine: BETA, the gateway and the stored history know it.
 */
const PROGRAM = join(import.meta.dirname, '../../apps/cli/bin/chancery.mjs')
const AUDIENCE = 'https://print.example'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const DAYS_60 = 60 * 86_400
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

type Name = 'alpha' | 'beta'
const NAMES: readonly Name[] = ['alpha', 'beta']
const otherOf = (name: Name): Name => (name === 'alpha' ? 'beta' : 'alpha')

let folder = ''
const ports = new Map<string, number>()
const running = new Map<string, ChildProcess>()
const decisions = new Map<Name, string>()
const witnessKeys = new Map<Name, string>()
const ca = new TestCa()
let provider: OidcProvider
let runner: Server
let nats: TemporaryNats
let postgres: TestDatabase
let node: NetworkNode
let nodeCall: ReturnType<NetworkNode['fetchWith']>
let beforeRevocation = ''

const path = (...names: readonly string[]): string => join(folder, ...names)
const urlOf = (name: string): string => `http://127.0.0.1:${ports.get(name) ?? 0}`
const config = (name: Name): string => `--home ${name}`

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { ...COMPILE_CACHE, PATH: process.env['PATH'] ?? '', HOME: folder, NO_COLOR: '1', ...more }
}

async function chancery(line: string, env: Readonly<Record<string, string>> = {}, cwd = folder): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...line.split(' ')], {
    cwd,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, error] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (error += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, error }
}

async function works(line: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const ended = await chancery(line, env)
  expect([line, ended.code, ended.code === 0 ? '' : ended.out + ended.error]).toEqual([line, 0, ''])
  return ended.out
}

/** Runs a command as the auditor: in a folder without configuration, in a process that cannot open a connection. */
function audit(line: string): Promise<Ended> {
  return chancery(line, { HOME: path('auditor'), NODE_OPTIONS: `--import=${path('no-network.mjs')}` }, path('auditor'))
}

async function startInBackground(name: string, line: string): Promise<void> {
  const log = await open(path(`${name}.log`), 'a')
  const child = spawn(process.execPath, [PROGRAM, ...line.split(' ')], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  running.set(name, child)
}

async function stop(name: string): Promise<void> {
  const child = running.get(name)
  running.delete(name)
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function startAuthorityOf(name: Name): Promise<void> {
  await startInBackground(name, `authority start --env-file ${name}/authority.env`)
  const askReady = async (): Promise<void> => {
    const log = (await readFile(path(`${name}.log`), 'utf8')).slice(-2000)
    expect([(await fetch(`${urlOf(name)}/readyz`)).status, log]).toEqual([200, log])
  }
  await vi.waitFor(askReady, { timeout: 120_000, interval: 100 })
}

async function load(...names: readonly string[]): Promise<JsonObject> {
  return readJson(await readFile(path(...names), 'utf8')) as JsonObject
}

/** Creates both networks. Each has a log key, and a witness for the log of the other one. */
async function createNetwork(name: Name): Promise<void> {
  await works(`init --home ${name} --name ${name.toUpperCase()} --port ${ports.get(name) ?? 0}`)
  await works(`keygen operator --out ${name}/keys/log`)
  await works(`keygen operator --out ${name}/keys/witness --key-id witness.${name}.example/w1`)
  const settings = [
    'EVIDENCE_STORE=on',
    `NA_LOG_ORIGIN=${name}.example/evidence-log`,
    `NA_LOG_PRIVATE_KEY_FILES=${path(name, 'keys/log.key')}`,
    `NA_WIMSE_TRUST_DOMAIN=${name}.example`,
    'NA_PARTNER_ADDRESSES=loopback',
    'NA_ADMISSION_ADDRESSES=loopback',
    `NA_ADMISSION_CA_FILE=${path('roots.pem')}`,
  ]
  const file = path(name, 'authority.env')
  const text = (await readFile(file, 'utf8')).replace('NA_NODE_DECISIONS=own', 'NA_NODE_DECISIONS=partners')
  const onPostgres = text.replace(/^DB_PATH=.*$/m, `DATABASE_URL=${postgres.settings['DATABASE_URL'] ?? ''}`)
  await writeFile(file, `${name === 'beta' ? onPostgres : text}${settings.join('\n')}\n`)
  await startAuthorityOf(name)
}

/** The other network starts its witness for the log of this one, and this one names it in its settings. */
async function witness(name: Name): Promise<void> {
  const other = otherOf(name)
  // A new authority has no log until its job has signed the first checkpoint.
  const shown = await vi.waitFor(() => works(`evidence witnesses ${config(name)}`), { timeout: 120_000, interval: 500 })
  const [, logKey = ''] = /^Key of the log: (.+)$/m.exec(shown) ?? []
  await writeFile(path(`${other}.logs`), `log ${logKey}\n`)
  const flags = `--state ${other}.state --logs ${other}.logs --key ${other}/keys/witness.key --init`
  const address = `127.0.0.1:${ports.get(`witness-${other}`) ?? 0}`
  await startInBackground(`witness-${other}`, `evidence witness --listen ${address} ${flags}`)
  const readKey = async (): Promise<string> => {
    const log = await readFile(path(`witness-${other}.log`), 'utf8')
    const [, key] = /^verifier key: (.+)$/m.exec(log) ?? []
    if (key === undefined) throw new Error(`the witness did not start: ${log}`)
    return key
  }
  const key = await vi.waitFor(readKey, { timeout: 120_000, interval: 100 })
  witnessKeys.set(name, key)
  await appendFile(path(name, 'authority.env'), `NA_LOG_WITNESSES=${key} http://${address}\n`)
  await stop(name)
  await startAuthorityOf(name)
}

/** Gives tokens of the provider to a job, as the runner of a build platform does: `client` says which job. */
function startRunner(): Server {
  return createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://runner')
    void provider
      .mint(pathname.slice(1), searchParams.get('audience') ?? '')
      .then((value) => response.end(JSON.stringify({ value })))
  }).listen(0, '127.0.0.1')
}

function jobOf(client: string): Record<string, string> {
  const { port } = runner.address() as AddressInfo
  return {
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/${client}`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner-secret',
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-outside-'))
  for (const name of [...NAMES, 'witness-alpha', 'witness-beta', 'gateway', 'check']) ports.set(name, await freePort())
  await writeFile(path('roots.pem'), ca.cert)
  await writeFile(
    path('no-network.mjs'),
    "import { Socket } from 'node:net'\nSocket.prototype.connect = () => process.exit(99)\n",
  )
  await mkdir(path('auditor'))
  provider = await startOidcProvider(ca)
  runner = startRunner()
  nats = await startTemporaryNats()
  postgres = await createTestDatabase('postgres')
  await Promise.all(NAMES.map(createNetwork))
  await Promise.all(NAMES.map(witness))
  for (const name of NAMES) await copyFile(path(name, 'genesis.json'), path('auditor', `${name}.json`))
})

afterAll(async () => {
  await node?.stop()
  for (const name of running.keys()) await stop(name)
  runner?.closeAllConnections()
  runner?.close()
  await provider?.stop()
  await nats?.remove()
  await postgres?.drop()
  ca.remove()
  await rm(folder, { recursive: true, force: true })
})

it('a machine joins by a token of its platform, and another job of that platform does not', async () => {
  const rule = `--issuer ${provider.issuer} --keys-url ${provider.issuer}/jwks --claim sub=workload --role role:client`
  const added = await works(`invite rule add ci ${rule} ${config('alpha')}`)
  expect(added).toContain(`tokens of ${provider.issuer} with sub = workload; as role:client for 2 h`)
  const join = (home: string): string =>
    `join --home ${home} --url ${urlOf('alpha')} --genesis alpha/genesis.json --evidence github --rule ci`
  const stranger = await chancery(join('stranger'), jobOf('stranger'))
  expect([stranger.code, stranger.error]).toEqual([1, expect.stringContaining('claims_mismatch')])
  expect(await works(join('node'), jobOf('workload'))).toContain('Joined ALPHA.')
  expect(await works(`certs --state valid ${config('alpha')}`)).toContain('role:client')
})

const CARD = {
  name: 'Printer 1',
  description: 'Prints documents.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://print.example.org/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['application/pdf'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'print:a4', name: 'Print A4', description: 'Prints a file.', tags: ['paper'] }],
}
const verifyCard = (): Promise<Ended> =>
  chancery(
    `agent card verify signed.json --genesis beta/genesis.json --url ${urlOf('beta')} --partner-url ${urlOf('alpha')}`,
  )

it('the partner trusts the agent card by certificate, list and treaty', async () => {
  await writeFile(path('card.json'), JSON.stringify(CARD))
  await writeFile(path('signed.json'), await works('agent sign-card card.json --home node'))
  const without = await verifyCard()
  expect([without.code, without.out]).toEqual([1, expect.stringContaining('NOT VALID')])
  const bootstrap = `--root-key alpha/keys/root.pub --role role:client --capability ledger.read --partner --import-feeds`
  await works(`federation bootstrap ${urlOf('alpha')} ${bootstrap} --yes ${config('beta')}`)
  const valid = await verifyCard()
  expect([valid.code, valid.out + valid.error]).toEqual([0, expect.stringContaining('Valid: Printer 1')])
  expect(valid.out).toMatch(/treaty +[0-9a-f-]{36}/)
})

it('both authorities decide, and store the decision', async () => {
  await writeFile(path('claims.json'), JSON.stringify({ capabilities: ['ledger.read'] }))
  const issue = 'attestation issue agent-7 --role role:client --node node/node.pub --claims claims.json'
  await works(`${issue} --out agent.json ${config('alpha')}`)
  const pulled = async (): Promise<number | null> => (await chancery(`partner pull ALPHA ${config('beta')}`)).code
  await expect.poll(pulled, { timeout: 120_000, interval: 1000 }).toBe(0)
  await works('ask ledger.read --home node --attestation agent.json --out decided-alpha.json')
  const presented = '--key node/node.key --presented agent.json --issuer ALPHA'
  await works(`ask ledger.read ${presented} --url ${urlOf('beta')} --out decided-beta.json`)
  for (const name of NAMES) {
    const { decision } = (await load(`decided-${name}.json`)) as { decision: { decision_id: string } }
    decisions.set(name, decision.decision_id)
  }
})

it('both logs are witnessed by the other network, and the metrics say so', async () => {
  for (const name of NAMES) {
    const note = async (): Promise<readonly string[]> =>
      (await (await fetch(`${urlOf(name)}/evidence-log/cosigned-checkpoint`)).text()).split('\n')
    await expect
      .poll(async () => (await note()).slice(0, 2), { timeout: 120_000 })
      .toEqual([`${name}.example/evidence-log`, '2'])
    expect(
      (await note()).filter((line) => line.startsWith(`\u2014 witness.${otherOf(name)}.example/w1 `)),
    ).toHaveLength(1)
    const metrics = await (await fetch(`${urlOf(name)}/metrics`)).text()
    expect(metrics).toMatch(/^chancery_evidence_log_cosignatures(\{.*\})? 1$/m)
    expect(metrics).toMatch(/^chancery_evidence_log_quorum(\{.*\})? 1$/m)
    expect(metrics).toMatch(/^chancery_evidence_log_witness_alarms(\{.*\})? 0$/m)
    await works(`evidence witnesses --out auditor/${name}.policy ${config(name)}`)
  }
})

it('the program of the auditor opens no connection', async () => {
  expect((await audit(`verify pack ${urlOf('alpha')} --genesis alpha.json`)).code).not.toBe(0)
  expect((await audit(`nodes --home ../alpha`)).code).toBe(99)
})

interface PackReport {
  readonly valid: boolean
  readonly checks: readonly { readonly name: string; readonly status: string }[]
}

it.each(NAMES)('an auditor verifies the decision of %s offline with pinned keys', async (name) => {
  const [id, key] = [decisions.get(name) ?? '', witnessKeys.get(name) ?? '']
  const basis = name === 'beta' ? '--attestation agent.json ' : ''
  await works(`evidence pack ${id} ${basis}--out auditor/${name}.pack ${config(name)}`)
  await works(`evidence pack ${id} ${basis}--html --out auditor/${name}.html ${config(name)}`)
  for (const form of ['pack', 'html']) {
    const judged = await audit(`verify ${name}.${form} --genesis ${name}.json --key ${key} --json`)
    expect([judged.code, judged.error]).toEqual([0, ''])
    const { valid, checks } = JSON.parse(judged.out) as PackReport
    expect(valid).toBe(true)
    const statusOf = (check: string): string | undefined => checks.find((one) => one.name === check)?.status
    expect([statusOf('inclusion'), statusOf('witnesses')]).toEqual(['passed', 'passed'])
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([])
  }
  expect((await audit(`verify ${name}.pack --genesis ${otherOf(name)}.json`)).code).toBe(1)
  expect((await audit(`verify ${name}.pack`)).code).toBe(2)

  await works(`evidence receipt ${id} --out auditor/${name}.tlog-proof --line auditor/${name}.line ${config(name)}`)
  const proven = await audit(`verify ${name}.tlog-proof --with ${name}.policy --with ${name}.line --json`)
  expect(JSON.parse(proven.out)).toMatchObject({
    valid: true,
    decision_id: id,
    cosigners: [`witness.${otherOf(name)}.example/w1`],
  })
  await works(`evidence receipt ${id} --form cose --out auditor/${name}.cose ${config(name)}`)
  await writeFile(path('auditor', `${name}.log.json`), await (await fetch(`${urlOf(name)}/evidence-log`)).text())
  const cose = `verify ${name}.cose --with ${name}.line --with ${name}.log.json --genesis ${name}.json`
  expect(JSON.parse((await audit(`${cose} --json`)).out)).toMatchObject({ valid: true, kind: 'cose', decision_id: id })

  await works(`evidence receipt ${id} --out auditor/${name}.sigstore.json ${config(name)}`)
  const bundle = `verify ${name}.sigstore.json --genesis`
  expect((await audit(`${bundle} ${name}.json`)).code).toBe(0)
  expect((await audit(`${bundle} ${otherOf(name)}.json`)).code).toBe(1)
  const { network_authority } = readGenesisBlock(await load('auditor', `${name}.json`))
  const text = await readFile(path('auditor', `${name}.sigstore.json`), 'utf8')
  expect(() => verifyWithSigstore(text, network_authority.public_key)).not.toThrow()
})

/** A gateway that accepts tokens of WIMSE from nodes of ALPHA for one service. */
async function startGateway(): Promise<void> {
  const place = `--home alpha --out gateway --port ${ports.get('gateway') ?? 0}`
  await works(`gateway init ${place} --role role:client --every 10s`)
  const policy = await load('gateway', 'policy.json')
  const check = {
    audience: AUDIENCE,
    wimse: { ALPHA: 'alpha.example' },
    routes: [{ method: 'GET', path: '/jobs/{job}' }],
  }
  const networks = policy['networks'] as Record<string, JsonObject>
  const traced = { ...networks, ALPHA: { ...networks['ALPHA'], forward_traceparent: true } }
  await writeFile(path('gateway/policy.json'), JSON.stringify({ ...policy, networks: traced, check }))
  const address = `127.0.0.1:${ports.get('check') ?? 0}`
  await appendFile(path('gateway/gateway.env'), `GATEWAY_CHECK_ADDR=${address}\nGATEWAY_CHECK_DIALECT=original\n`)
  await startInBackground('gateway', 'gateway start --env-file gateway/gateway.env')
}

/** The proxy of the service: it asks the check about a request. */
async function passing(init: RequestInit | undefined): Promise<Response> {
  const headers = {
    ...Object.fromEntries(new Headers(init?.headers)),
    'x-original-method': 'GET',
    'x-original-uri': '/jobs/7',
  }
  const { status, reason, headers: given } = await askCheck(urlOf('check'), { path: '/check', headers })
  return new Response(String(given['chancery-node'] ?? reason), { status })
}

/** The node asks through a proxy: the proxy sends the fields of the request to the check, and its answer back. */
async function callThroughCheck(): Promise<string> {
  nodeCall ??= node.fetchWith({ audience: AUDIENCE, profile: wimse() })
  const answer = await nodeCall(`${AUDIENCE}/jobs/7`, { headers: { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` } })
  return `${answer.status} ${await answer.text()}`
}

it('a WIMSE call of the node passes the check of the gateway', async () => {
  await startGateway()
  node = await joinNetwork({
    url: urlOf('alpha'),
    genesis: await readGenesisFile(path('alpha/genesis.json')),
    store: new FileNodeStore(path('node')),
    fetch: (input, init) => (String(input).startsWith(AUDIENCE) ? passing(init) : fetch(input, init)),
  })
  await expect
    .poll(() => callThroughCheck().catch(String), { timeout: 120_000, interval: 500 })
    .toBe(`200 ${node.certificate.cert_id}`)
})

it('the revocation is known to the history, the partner and the gateway', async () => {
  const { cert_id } = await load('node', 'certificate.json')
  beforeRevocation = new Date().toISOString()
  const revoked = await works(
    `node revoke node/certificate.json --reason cessation_of_operation --yes ${config('alpha')}`,
  )
  expect(revoked).toContain('ci admits its workload with a new key')
  const after = new Date(Date.now() + 1000).toISOString()

  const card = await verifyCard()
  expect([card.code, card.out]).toEqual([1, expect.stringContaining('NOT VALID: certificate_untrusted')])
  // The token is valid for an hour; the list decides.
  await expect.poll(callThroughCheck, { timeout: 120_000, interval: 1000 }).toBe('403 certificate_untrusted')
  const wit = await chancery(`node call ${AUDIENCE} --home node --audience ${AUDIENCE} --profile wimse --print-headers`)
  expect([wit.code, wit.out]).toEqual([1, ''])

  const trusted = `trusted node/certificate.json ${config('alpha')} --at`
  // A history says nothing about the last seconds.
  const stateAfter = async (): Promise<number | null> => (await chancery(`${trusted} ${after}`)).code
  await expect.poll(stateAfter, { timeout: 120_000, interval: 2000 }).toBe(1)
  const then = await chancery(`${trusted} ${beforeRevocation} --out auditor/answer.jsonl`)
  expect([then.code, then.out]).toEqual([0, expect.stringContaining(`certificate ${String(cert_id)}`)])
  expect(then.out).toContain('(cessation_of_operation)')

  await works(`record history --all --out auditor/history.jsonl ${config('alpha')}`)
  await copyFile(path('node/certificate.json'), path('auditor/certificate.json'))
  for (const file of ['answer.jsonl', 'history.jsonl']) {
    const offline = `record history certificate.json --offline ${file} --genesis alpha.json --at`
    expect([file, (await audit(`${offline} ${beforeRevocation}`)).code]).toEqual([file, 0])
    if (file === 'history.jsonl') expect([file, (await audit(`${offline} ${after}`)).code]).toEqual([file, 1])
  }
})

it('the archive still answers when the authority has removed the certificate', async () => {
  await stop('alpha')
  await mkdir(path('copy'))
  for (const file of await readdir(path('alpha')))
    if (file.startsWith('authority.db')) await copyFile(path('alpha', file), path('copy', file))
  const { cert_id } = await load('node', 'certificate.json')
  // No process can wait for the retention: the same database, with a clock that moves.
  const clock = new ManualClock(systemClock.now())
  const text = (await readFile(path('alpha/authority.env'), 'utf8'))
    .replace(/^PORT=.*$/m, 'PORT=0')
    .replace(/^NA_LOG_WITNESSES=.*$/m, '')
  const env = { DB_PATH: path('copy/authority.db'), NA_CLOCK_CHECK: 'off', NA_CERTIFICATE_KEPT_DAYS: '30' }
  const settings = requireValues(readAuthoritySettings({ flags: {}, env, envFile: { path: 'authority.env', text } }))
  const later = await startAuthority(settings, { log: silentLog, clock })
  try {
    clock.advance(DAYS_60)
    const signal = new AbortController().signal
    await fetch(`${later.url}/crl`)
    await later.core.rollback.writeMark()
    const jobs = [...later.features.crl.jobs, ...later.features.enrollment.jobs]
    for (const name of ['crl-removal', 'certificate-removal']) {
      const job = jobs.find((one) => one.name === name)
      if (job === undefined) throw new Error(`there is no job ${name}`)
      await job.run(signal)
    }
    const key = readPrivateKeyFile(await readFile(path('alpha/keys/operator.key'), 'utf8'))
    if (key === undefined) throw new Error('no operator key')
    const { network_authority } = readGenesisBlock(await load('alpha', 'genesis.json'))
    const signer = await seedSigner(key.keyId ?? '', key.value)
    const operate = operatorCaller(later.url, signer, network_authority.public_key, () => clock.now())
    const target = `/admin/history/trusted?kind=certificate&id=${String(cert_id)}&at=${beforeRevocation}`
    expect(accepted(await operate('GET', target))).toMatchObject({ state: 'unknown', reason: 'not_stored' })
  } finally {
    later.turnNotReady()
    void later.stopAccepting()
    await later.close()
  }
  const offline = 'record history certificate.json --offline history.jsonl --genesis alpha.json --at'
  const told = await audit(`${offline} ${beforeRevocation}`)
  expect([told.code, told.out]).toEqual([0, expect.stringContaining('Trusted at')])
})

it.each(NAMES)('the audit of %s is forwarded as OCSF and as CloudEvents', async (name) => {
  const forward = `authority audit --once --home ${name} --forward ${nats.url} --stream ${name.toUpperCase()} --subject ${name}.audit`
  await works(`${forward} --format ocsf --name siem`)
  await works(`${forward} --format cloudevents --name router`)
  const { byId } = await readStream(nats.url, name.toUpperCase())
  const sent = [...byId.values()].map((text) => JSON.parse(text) as JsonObject)
  const ocsf = sent.filter((event) => event['class_uid'] !== undefined)
  const cloud = sent.filter((event) => event['specversion'] !== undefined)
  expect(sent.length).toBe(ocsf.length + cloud.length)
  expect(ocsf.length).toBe(cloud.length)
  for (const event of ocsf) expect([event, problemsOf('ocsf', event)]).toEqual([event, []])
  for (const event of cloud) expect([event, problemsOf('cloudevents', event)]).toEqual([event, []])
  const codes = ocsf.map(({ metadata }) => (metadata as JsonObject)['event_code'])
  const expected =
    name === 'alpha'
      ? ['admission_rule_added', 'certificate_issued', 'certificate_revoked', 'boundary_attestation_decision_made']
      : ['recognition_treaty_issued', 'boundary_attestation_decision_made']
  expect(codes).toEqual(expect.arrayContaining(expected))
})

it('the audit of the gateway has the trace of the node, in both forms', async () => {
  for (const format of ['ocsf', 'cloudevents'] as const) {
    const out = await works(`gateway audit --format ${format} --home gateway`)
    const events = out.trimEnd().split('\n')
    expect(events.some((line) => line.includes(TRACE))).toBe(true)
    for (const line of events) expect([line, problemsOf(format, JSON.parse(line))]).toEqual([line, []])
  }
})
