import { createHash } from 'node:crypto'
import { readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GATEWAY_POLICY_BYTES } from '@chancery/contract'
import { type JsonObject, writePublicKeyFile } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestAuthority, startTestAuthority, testList, testSigner } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CommandRun, TestContext, type TestContextOptions } from '../../testing/run-command.suite.ts'
import { policyFileText } from './gateway-folder.ts'

let na: TestAuthority
let setup: TestContext
beforeAll(async () => {
  na = await startTestAuthority({ network: 'TEST-NET' })
})
afterAll(() => na.stop())
beforeEach(async () => {
  setup = await TestContext.make()
  await writeFile(setup.path('root.pub'), writePublicKeyFile(na.genesis.root_public_key, 'rs-test'))
})
afterEach(() => setup.remove())

const run = (line: string, options?: TestContextOptions): Promise<CommandRun> =>
  setup.run(line, { now: () => systemClock.now(), ...options })
const init = (flags: string, options?: TestContextOptions): Promise<CommandRun> =>
  run(`gateway init --url ${na.url} --root-key root.pub --json ${flags}`, options)
const errorOf = ({ stderr }: CommandRun): { code: string; message: string; hint: string } =>
  (JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }).error
const policyOf = async (folder: string): Promise<JsonObject> =>
  JSON.parse(await readFile(setup.path(folder, 'policy.json'), 'utf8')) as JsonObject

describe('gateway init', () => {
  it('writes policy, settings, state and token of a gateway that passes the check of a start', async () => {
    const made = await init('--out gateway --role role:client --refresh-seconds 10')
    expect([made.code, made.stderr]).toEqual([0, ''])
    expect((await readdir(setup.path('gateway'))).sort()).toEqual([
      'caller.token',
      'gateway.env',
      'policy.json',
      'state',
    ])
    for (const file of ['caller.token', 'gateway.env', 'policy.json', 'state/gateway.state'])
      expect((await stat(setup.path('gateway', file))).mode & 0o777).toBe(0o600)
    const token = (await readFile(setup.path('gateway/caller.token'), 'utf8')).trim()
    expect(await policyOf('gateway')).toMatchObject({
      networks: {
        'TEST-NET': {
          authority_url: na.url,
          anchors: { [na.core.signing.keyId]: na.genesis.network_authority.public_key },
          required_roles: ['role:client'],
          refresh_seconds: 10,
          allow_http: true,
        },
      },
      clients: [{ id: 'service', token_sha256: createHash('sha256').update(token).digest('hex') }],
    })
    expect(made.stdout).not.toContain(token)
    expect(made.json()['next']).toContain('chancery gateway start --env-file ./gateway/gateway.env')
    const checked = await run(`gateway doctor --json --env-file ${setup.path('gateway/gateway.env')}`)
    const { findings } = checked.json() as unknown as { findings: { check: string; status: string }[] }
    expect(findings.filter(({ status }) => status !== 'good').map(({ check }) => check)).toEqual(['ready'])
  })

  it('shows the token once with --show-token and writes it to no file', async () => {
    const made = await init('--out gateway --show-token')
    const { token } = made.json() as { token: string }
    expect(token).toMatch(/^gw1_/)
    for (const file of ['policy.json', 'gateway.env'])
      expect(await readFile(setup.path('gateway', file), 'utf8')).not.toContain(token)
    expect(await readdir(setup.path('gateway'))).not.toContain('caller.token')
  })

  it('refuses another root key, another network and an address without an authority, and writes nothing', async () => {
    const { publicKey } = await testSigner('other', 'other root')
    const at = `gateway init --json --home gateway`
    const refusals = [
      [`${at} --authority ${na.url} --root-key ${publicKey}`, 'root_key_mismatch'],
      [`${at} --authority http://127.0.0.1:9 --root-key root.pub`, 'authority_unreachable'],
      [`${at} --authority http://na.example.org --root-key root.pub`, 'invalid_address'],
      [`${at} --authority ${na.url}/path --root-key root.pub`, 'invalid_address'],
      [`${at} --authority ${na.url}`, 'usage'],
      [`${at} --authority ${na.url} --root-key root.pub --host localhost`, 'usage'],
      [`${at} --authority ${na.url} --root-key root.pub --home na`, 'usage'],
      [`${at} --authority ${na.url} --root-key root.pub --start --show-token`, 'usage'],
    ] as const
    for (const [line, code] of refusals) {
      const ran = await run(line)
      expect([line, ran.code > 0, errorOf(ran).code]).toEqual([line, true, code])
    }
    expect(await readdir(setup.folder)).toEqual(['root.pub'])
  })

  it('refuses a folder of another gateway, a folder with files and an existing token file', async () => {
    await init('--out gateway')
    const before = await readFile(setup.path('gateway/policy.json'), 'utf8')
    const again = errorOf(await init('--out gateway'))
    expect([again.code, again.hint]).toEqual(['gateway_exists', expect.stringContaining('gateway network add')])
    expect(await readFile(setup.path('gateway/policy.json'), 'utf8')).toBe(before)
    expect(errorOf(await init('--out .')).code).toBe('folder_in_use')
    expect(errorOf(await init('--out second --token-file root.pub')).code).toBe('file_exists')
    expect((await readdir(setup.folder)).sort()).toEqual(['gateway', 'root.pub'])
  })

  it('reads address, name and root key from the folder of an authority', async () => {
    await run('init --home other --name OTHER-NET --port 9')
    const found = errorOf(await run(`gateway init --genesis other/genesis.json --json --url ${na.url} --home gateway`))
    expect(found.code).toBe('root_key_mismatch')
    const missing = errorOf(await run('gateway init --genesis nowhere/genesis.json --json --home gateway'))
    expect([missing.code, missing.hint]).toEqual(['file_error', expect.stringContaining('chancery init')])
    const unreachable = errorOf(await run('gateway init --genesis other/genesis.json --json --home gateway'))
    expect([unreachable.code, unreachable.message]).toEqual([
      'authority_unreachable',
      'http://127.0.0.1:9 serves no genesis block.',
    ])
  })

  it('creates the files that the settings file names, also when the shell has other settings', async () => {
    const made = await init('--out gateway', { env: { GATEWAY_STATE_FILE: setup.path('elsewhere') } })
    expect(made.code).toBe(0)
    expect(made.stderr).toContain('GATEWAY_STATE_FILE in this shell override the settings file')
    expect((await readdir(setup.folder)).sort()).toEqual(['gateway', 'root.pub'])
  })
})

describe('gateway init with a large revocation list', () => {
  /** Serves the documents of the authority, with a signed list of this many entries. Returns the result of init. */
  async function initWith(count: number): Promise<{ readonly ran: CommandRun; readonly bytes: number }> {
    const signer = await testSigner('na-test', 'na')
    const entries = Array.from({ length: count }, (_, n) => ({ certificate_id: `cert-${String(n).padStart(31, '0')}` }))
    const by = { network: 'TEST-NET', keyId: 'na-test', signer }
    const list = JSON.stringify(await testList(by, systemClock.now(), { entries }))
    const server = createServer((request, response) => {
      if (request.url === '/crl') response.end(list)
      else
        void fetch(`${na.url}${request.url}`).then(async (answer) =>
          response.writeHead(answer.status).end(await answer.text()),
        )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      const ran = await run(`gateway init --url http://127.0.0.1:${port} --root-key root.pub --json --home gateway`)
      return { ran, bytes: list.length }
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  it('accepts a list of more than 2 MiB', async () => {
    const { ran, bytes } = await initWith(20_000)
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    expect(bytes).toBeGreaterThan(2 * 1024 * 1024)
    const text = await readFile(setup.path('gateway/policy.json'), 'utf8')
    expect(text.match(/"certificate_id"/g)).toHaveLength(20_000)
  })

  it('writes a policy without indentation where the indented text would be too large', () => {
    const policy = { items: Array.from({ length: 230_000 }, () => ({ a: 'x'.repeat(50) })) }
    const text = policyFileText(policy)
    expect(text.split('\n')).toHaveLength(2)
    expect(text.length).toBeLessThan(GATEWAY_POLICY_BYTES)
    expect(JSON.stringify(policy, undefined, 2).length).toBeGreaterThan(GATEWAY_POLICY_BYTES)
    expect(policyFileText({ a: 1 })).toBe('{\n  "a": 1\n}\n')
  })

  it('names a list that is larger than a policy file, and writes nothing', async () => {
    const { ran } = await initWith(125_000)
    expect(errorOf(ran)).toMatchObject({
      code: 'document_too_large',
      message: expect.stringMatching(/^\/crl of .+ is larger than 16777216 bytes\.$/),
    })
    expect(await readdir(setup.folder)).toEqual(['root.pub'])
  })
})

describe('gateway network add', () => {
  it('adds a verified network for the client, refuses it twice, and leaves the policy after a refusal', async () => {
    const second = await startTestAuthority({ network: 'SECOND-NET' })
    try {
      const { publicKey } = await testSigner('other', 'other root')
      await writeFile(setup.path('second.pub'), writePublicKeyFile(second.genesis.root_public_key, 'rs-test'))
      await init('--out gateway')
      const before = await policyOf('gateway')
      const add = `gateway network add --json --home gateway --url ${second.url}`
      expect(errorOf(await run(`${add} --root-key ${publicKey}`)).code).toBe('root_key_mismatch')
      expect(errorOf(await run(`${add} --root-key second.pub --client other`)).code).toBe('usage')
      expect(await policyOf('gateway')).toEqual(before)
      const added = await run(`${add} --root-key second.pub`)
      expect([added.code, added.json()['network']]).toEqual([0, 'SECOND-NET'])
      expect(await policyOf('gateway')).toMatchObject({
        networks: { 'TEST-NET': expect.anything(), 'SECOND-NET': { authority_url: second.url } },
        clients: [{ id: 'service', networks: ['TEST-NET', 'SECOND-NET'] }],
      })
      expect((await stat(setup.path('gateway/policy.json'))).mode & 0o777).toBe(0o600)
      expect(errorOf(await run(`${add} --root-key second.pub`)).code).toBe('network_exists')
      expect((await readdir(setup.path('gateway'))).sort()).toHaveLength(4)
    } finally {
      await second.stop()
    }
  })

  it('names the command that creates a gateway when the folder has none', async () => {
    const { code, hint } = errorOf(await run(`gateway network add --genesis na/genesis.json --json --home gateway`))
    expect([code, hint]).toEqual(['file_error', expect.stringContaining('chancery gateway init --home ./gateway')])
  })
})
