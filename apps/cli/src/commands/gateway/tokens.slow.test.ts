import { createPublicKey } from 'node:crypto'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { type JsonObject, writeJson, writePrivateKeyFile, writePublicKeyFile } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestAuthority, enroll, nodeCaller, startTestAuthority, testSeed, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandRun, TestContext } from '../../testing/run-command.suite.ts'

/** Holds: `gateway enable tokens` writes a configuration that a start accepts, or nothing. */
let na: TestAuthority
let setup: TestContext
beforeAll(async () => {
  na = await startTestAuthority({ network: 'TEST-NET' })
  setup = await TestContext.make()
  await writeFile(setup.path('root.pub'), writePublicKeyFile(na.genesis.root_public_key, 'rs-test'))
  const made = await run(`gateway init --authority ${na.url} --root-key root.pub --out gateway --json`)
  expect([made.code, made.stderr]).toEqual([0, ''])
  const node = nodeCaller(na.url, await testSigner('relay', 'cli-relay'), () => systemClock.now())
  const certificate = await enroll(na, node)
  await mkdir(setup.path('relay'))
  await writeFile(setup.path('relay/node.key'), writePrivateKeyFile(testSeed('cli-relay')), { mode: 0o600 })
  await writeFile(setup.path('relay/certificate.json'), writeJson(certificate))
})
afterAll(async () => {
  await setup.remove()
  await na.stop()
})

const run = (line: string): Promise<CommandRun> => setup.run(line, { now: () => systemClock.now() })
const enable = (flags: string): Promise<CommandRun> =>
  run(`gateway enable tokens --gateway gateway --resource https://ledger.example/api --json ${flags}`)
const GOOD = '--issuer https://gw.example --scope ledger.read --scope append=ledger.append --node relay'
const policyOf = async (): Promise<JsonObject> =>
  JSON.parse(await readFile(setup.path('gateway/policy.json'), 'utf8')) as JsonObject

describe('gateway enable tokens', () => {
  it('writes nothing when a start would refuse it, or nobody could ask for decisions', async () => {
    const before = await readFile(setup.path('gateway/policy.json'), 'utf8')
    expect((await enable('--issuer https://gw.example/x --scope a --node relay')).code).toBe(1)
    expect((await enable('--issuer https://gw.example --scope a=x --scope b=x --node relay')).code).toBe(1)
    expect((await enable('--issuer https://gw.example --scope a')).code).toBe(2)
    expect(await readFile(setup.path('gateway/policy.json'), 'utf8')).toBe(before)
    expect((await readdir(setup.path('gateway'))).sort()).toEqual([
      'caller.token',
      'gateway.env',
      'policy.json',
      'state',
    ])
  })

  it('writes a first key and one service, and is refused the second time', async () => {
    const made = await enable(GOOD)
    expect([made.code, made.stderr]).toEqual([0, ''])
    expect((await stat(setup.path('gateway/token-1.pem'))).mode & 0o777).toBe(0o600)
    expect(await policyOf()).toMatchObject({
      networks: { 'TEST-NET': { decisions: { key_file: setup.path('relay/node.key') } } },
      oauth: {
        issuer: 'https://gw.example',
        resources: {
          service: { network: 'TEST-NET', scopes: { 'ledger.read': 'ledger.read', append: 'ledger.append' } },
        },
      },
    })
    const again = await enable(GOOD)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('tokens_enabled')])
  })

  it('prints keys and the metadata of the service', async () => {
    const { keys } = (await run('gateway token-key list --gateway gateway --json')).json() as { keys: JsonObject[] }
    expect(keys).toMatchObject([{ alg: 'ES256', signs: true }])
    const pem = await run('gateway token-key pem --gateway gateway')
    expect(createPublicKey(pem.stdout).asymmetricKeyDetails?.namedCurve).toBe('prime256v1')
    const described = (await run('gateway resource-metadata service --gateway gateway --json')).json()
    expect(described).toMatchObject({
      address: 'https://ledger.example/.well-known/oauth-protected-resource/api',
      metadata: { resource: 'https://ledger.example/api', authorization_servers: ['https://gw.example'] },
    })
    expect((await run('gateway resource-metadata other --gateway gateway')).code).toBe(2)
    const made = (await run('gateway token-key new --out next.pem --json')).json() as { entry: JsonObject }
    expect((await stat(setup.path('next.pem'))).mode & 0o777).toBe(0o600)
    expect(made.entry).toMatchObject({ file: setup.path('next.pem') })
  })
})
