import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readJoinCertificate, readJson, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { JoinCertificate, JsonObject } from '@chancery/protocol'
import {
  COMPILE_CACHE,
  createTestDatabase,
  freePort,
  sendGatewayRequest,
  startTestAuthority,
  testClient,
  testSeed,
} from '@chancery/testkit'
import type { Backend, TestClient, TestDatabase } from '@chancery/testkit'

const MAIN = join(import.meta.dirname, '../../apps/cli/src/main.ts')
const START_MS = 120_000
const execute = promisify(execFile)

/** What a page on operations takes for granted: an authority, nodes and perhaps a gateway, all started by commands. */
export class PageSetup {
  readonly folder: string
  readonly #database: TestDatabase
  readonly #url: string
  readonly #gatewayUrl: string
  readonly #client: TestClient
  readonly #nodes: readonly string[]
  readonly #running: ChildProcess[] = []
  readonly #lost: string[] = []
  #authority: ChildProcess | undefined
  #gateway: ChildProcess | undefined
  #isClosing = false
  #decisions = 0

  private constructor(
    folder: string,
    database: TestDatabase,
    ports: readonly [number, number],
    nodes: readonly string[],
  ) {
    this.#nodes = nodes
    this.folder = folder
    this.#database = database
    this.#url = `http://127.0.0.1:${ports[0]}`
    this.#gatewayUrl = `http://127.0.0.1:${ports[1]}`
    this.#client = testClient('caller', ['ACME-NET'])
  }

  static async open(backend: Backend, nodes: readonly string[], hasGateway: boolean): Promise<PageSetup> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-keys-page-'))
    const setup = new PageSetup(folder, await createTestDatabase(backend), [await freePort(), await freePort()], nodes)
    await setup.#install()
    await setup.startAuthority('old.env')
    for (const name of nodes) await setup.#join(name)
    if (hasGateway) await setup.#startGateway()
    return setup
  }

  /** A text of the page for this machine. */
  local(text: string): string {
    return text.replaceAll('/etc/chancery', this.folder).replaceAll('https://na.example.org', this.#url)
  }

  /** Runs a block as a reader would; gives what it printed. */
  async sh(text: string, cwd = this.folder): Promise<string> {
    const { stdout } = await execute('bash', ['-euc', this.local(text)], { cwd, env: this.#env() })
    return stdout
  }

  /** Runs a block at a partner that has a treaty with this network; gives what it printed. */
  async shAsPartner(text: string): Promise<string> {
    const folder = join(this.folder, 'partner')
    await mkdir(folder)
    for (const name of ['na-1.pub', 'na-2.pub']) await copyFile(join(this.folder, name), join(folder, name))
    await copyFile(join(this.folder, 'genesis.signed.json'), join(folder, 'their-genesis.json'))
    const partner = await startTestAuthority({ network: 'PARTNER-NET', backend: 'sqlite' })
    try {
      await writeFile(join(folder, 'own-genesis.json'), writeJson(partner.genesis))
      const key = writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged')
      await writeFile(join(folder, 'operator.key'), key, { mode: 0o600 })
      await writeFile(
        join(folder, 'chancery.toml'),
        configOf('PARTNER-NET', partner.url, 'own-genesis.json', 'operator.key'),
      )
      const issued = await this.sh('chancery treaty issue ACME-NET --key na-1.pub --role role:client --json', folder)
      const { treaty_id } = JSON.parse(issued) as { treaty_id: string }
      // At a terminal the reader is asked; a test is not.
      const answered = text.replace('TREATY-ID', treaty_id).replace(/^chancery treaty replace.*$/m, '$& --yes')
      return await this.sh(answered, folder)
    } finally {
      await partner.stop()
    }
  }

  async startAuthority(env: string): Promise<void> {
    this.#authority = this.#start('authority', 'authority', 'start', '--env-file', env)
    await ready(`${this.#url}/readyz`)
  }

  async stopAuthority(): Promise<void> {
    await stop(this.#authority)
    this.#authority = undefined
  }

  reloadGateway(): void {
    this.#gateway?.kill('SIGHUP')
  }

  /** Renews while the nodes run, so that a test need not wait for their time. */
  async renewNodes(): Promise<void> {
    for (const name of this.#nodes) await this.sh(`chancery node renew --home ${name}`)
  }

  certificates(): Promise<readonly JoinCertificate[]> {
    return Promise.all(
      this.#nodes.map(async (name) =>
        readJoinCertificate(readJson(await readFile(join(this.folder, name, 'certificate.json'), 'utf8'))),
      ),
    )
  }

  /** Whether the gateway accepts the certificates that the nodes have now. */
  async isTrusted(): Promise<boolean> {
    const verdicts = (await this.certificates()).map(async (certificate) => {
      const call = { token: this.#client.token, body: { certificate } }
      return (await sendGatewayRequest(this.#gatewayUrl, 'POST', '/verify', call)).body['trusted'] === true
    })
    return (await Promise.all(verdicts)).every(Boolean)
  }

  /** One decision in the evidence store, by an operator who follows the key. */
  async decide(): Promise<void> {
    this.#decisions += 1
    const id = `agent-${this.#decisions}`
    await writeFile(join(this.folder, 'claims.json'), '{"capabilities":["secret.rotate"]}')
    const as = '--home operator'
    await this.sh(`chancery genesis fetch --genesis genesis.signed.json --url ${this.#url}`)
    await this.sh(`chancery attestation issue ${id} --role role:service --claims claims.json --out ${id}.json ${as}`)
    const text = await readFile(join(this.folder, `${id}.json`), 'utf8')
    const attestation = /"attestation_id":\s*"([^"]+)"/.exec(text)?.[1] ?? ''
    await this.sh(`chancery ask --as operator secret.rotate --attestation ${attestation} ${as}`)
  }

  async exportRecords(): Promise<void> {
    await writeFile(join(this.folder, 'crl.json'), await (await fetch(`${this.#url}/crl`)).text())
    await this.sh(`chancery genesis fetch --genesis genesis.signed.json --url ${this.#url}`)
    await this.sh('chancery evidence export --out evidence.jsonl --home operator')
  }

  /** What ended without being asked to, and what the authority says is wrong with itself. */
  async problems(): Promise<readonly string[]> {
    const { warnings } = (await (await fetch(`${this.#url}/readyz`)).json()) as { warnings?: readonly string[] }
    const { count } = (await (await fetch(`${this.#url}/nodes`)).json()) as { count: number }
    return [...this.#lost, ...(warnings ?? []), ...(count === this.#nodes.length ? [] : [`${count} nodes are listed`])]
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.#running.map(stop))
    await this.#database.drop()
    await rm(this.folder, { recursive: true, force: true })
  }

  async #install(): Promise<void> {
    await mkdir(join(this.folder, 'bin'))
    const program = join(this.folder, 'bin', 'chancery')
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' --conditions=development '${MAIN}' "$@"\n`)
    await chmod(program, 0o755)
    await this.sh(`chancery keygen root --out root --key-id root-2026
      chancery keygen authority --out na-1 --key-id na-1
      chancery keygen operator --out ops-1 --key-id ops-1
      chancery genesis create --name ACME-NET --root-key root.pub --authority-key na-1.pub --out genesis.json
      chancery genesis sign genesis.json --root-private-key root.key --out genesis.signed.json`)
    const operator = (await readFile(join(this.folder, 'ops-1.pub'), 'utf8'))
      .split('\n')
      .find((line) => !line.startsWith('#'))
    const settings = {
      ...this.#database.settings,
      GENESIS_FILE: join(this.folder, 'genesis.signed.json'),
      NA_KEY_ID: 'na-1',
      NA_PRIVATE_KEY_FILE: join(this.folder, 'na-1.key'),
      OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'ops-1': operator }),
      OPERATOR_KEY_TIERS_JSON: '{"ops-1":"privileged"}',
      PORT: new URL(this.#url).port,
      EVIDENCE_STORE: 'on',
      NA_HEARTBEAT_SECONDS: '10',
      NA_HIGH_WATER_FILES: join(this.folder, 'mark.json'),
      // A replaced certificate ends at once, so that the key can be retired within the test.
      RENEWAL_GRACE_SECONDS: '0',
    }
    await writeLines(join(this.folder, 'old.env'), settings)
    await mkdir(join(this.folder, 'operator'), { recursive: true })
    for (const file of ['genesis.signed.json', 'ops-1.key'])
      await copyFile(join(this.folder, file), join(this.folder, 'operator', file))
    await writeFile(
      join(this.folder, 'operator', 'chancery.toml'),
      configOf('ACME-NET', this.#url, 'genesis.signed.json', 'ops-1.key'),
    )
  }

  async #join(name: string): Promise<void> {
    await this.sh(`chancery invite create --home operator --role role:client --out ${name}.token
      chancery join --home ${name} --url ${this.#url} --genesis genesis.signed.json --token-file ${name}.token`)
    this.#start(name, 'node', 'run', '--home', name)
  }

  async #startGateway(): Promise<void> {
    await this.sh(
      `chancery partner inspect ${this.#url} --genesis genesis.signed.json --allow-http --policy-fragment fragment.json`,
    )
    const fragment = JSON.parse(await readFile(join(this.folder, 'fragment.json'), 'utf8')) as Record<
      string,
      JsonObject
    >
    const networks = { 'ACME-NET': { ...fragment['ACME-NET'], refresh_seconds: 10 } }
    const policy = { revision: 'page', networks, clients: [this.#client.entry] }
    await writeFile(join(this.folder, 'policy.json'), JSON.stringify(policy, undefined, 2), { mode: 0o600 })
    await writeLines(join(this.folder, 'gateway.env'), {
      GATEWAY_ADDR: new URL(this.#gatewayUrl).host,
      GATEWAY_POLICY_FILE: join(this.folder, 'policy.json'),
      GATEWAY_STATE_FILE: join(this.folder, 'gateway.state'),
    })
    await this.sh('chancery gateway start --init-state --env-file gateway.env')
    this.#gateway = this.#start('gateway', 'gateway', 'start', '--env-file', 'gateway.env')
    await ready(`${this.#gatewayUrl}/ready`)
  }

  #start(name: string, ...words: readonly string[]): ChildProcess {
    const child = spawn(join(this.folder, 'bin', 'chancery'), words, {
      cwd: this.folder,
      env: this.#env(),
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    child.on('exit', (code) => {
      if (!this.#isClosing && code !== 0) this.#lost.push(`${name} ended with ${String(code)}`)
    })
    this.#running.push(child)
    return child
  }

  #env(): Record<string, string> {
    const path = [join(this.folder, 'bin'), process.env['PATH'] ?? ''].join(delimiter)
    // A separate home: the configuration of the person who runs the test must not be read.
    return { ...COMPILE_CACHE, PATH: path, HOME: this.folder, NO_COLOR: '1' }
  }
}

function configOf(network: string, url: string, genesis: string, key: string): string {
  const paths = `[paths]\ngenesis = "${genesis}"\noperator_private_key = "${key}"\n`
  return `[network]\nname = "${network}"\nna_endpoint = "${url}"\n${paths}`
}

async function writeLines(file: string, values: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
}

async function ready(url: string): Promise<void> {
  const end = performance.now() + START_MS
  while (performance.now() < end) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.status === 200) return
    await pause(200)
  }
  throw new Error(`${url} is not ready`)
}

async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
