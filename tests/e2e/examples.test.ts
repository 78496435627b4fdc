import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeJson, writePrivateKeyFile } from '@chancery/protocol'
import { joinNetwork } from '@chancery/sdk'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'
import {
  COMPILE_CACHE,
  createInvite,
  createTestDatabase,
  createTestNetwork,
  startAuthorityProcess,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples')

let network: TestNetwork
let database: TestDatabase
let na: AuthorityProcess
let client: Client
let folder: string
let env: Record<string, string>
beforeAll(async () => {
  network = await createTestNetwork('EXAMPLE-NET')
  database = await createTestDatabase('sqlite')
  na = await startAuthorityProcess({
    network,
    settings: { ...database.settings, EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '1', NA_NODE_DECISIONS: 'own' },
  })
  folder = await mkdtemp(join(tmpdir(), 'chancery-examples-'))
  const operator = { signer: network.operators.privileged, audience: network.authority.publicKey }
  client = createAuthorityClient({ url: na.url, operator })
  await writeFile(join(folder, 'operator.key'), writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged'))
  env = {
    ...COMPILE_CACHE,
    PATH: process.env['PATH'] ?? '',
    NA_URL: na.url,
    GENESIS: network.settings['GENESIS_FILE'] ?? '',
    OPERATOR_KEY: join(folder, 'operator.key'),
  }
}, 60_000)
afterAll(async () => {
  await na.stop()
  await database.drop()
  await network.remove()
  await rm(folder, { recursive: true, force: true })
})

interface Program {
  readonly child: ChildProcess
  readonly lines: string[]
  /** Waits until a line holds the text. */
  says(text: string): Promise<string>
  /** Asks it to end and gives its exit code. */
  end(): Promise<number | null>
}

const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

/** Runs an example as its reader would: a separate program with all settings in its environment. */
function run(name: string, more: Readonly<Record<string, string>> = {}): Program {
  const child = spawn(process.execPath, ['--conditions=development', join(EXAMPLES, name)], {
    env: { ...env, ...more },
    cwd: folder,
  })
  running.push(child)
  const lines: string[] = []
  const keep = (chunk: Buffer): void => void lines.push(...chunk.toString('utf8').split('\n').slice(0, -1))
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    child,
    lines,
    says: async (text) => {
      for (let tries = 0; tries < 2000; tries += 1) {
        const found = lines.find((line) => line.includes(text))
        if (found !== undefined) return found
        if (child.exitCode !== null) break
        await pause(10)
      }
      throw new Error(`${name} did not say «${text}» but: ${lines.join('\n')}`)
    },
    end: async () => {
      child.kill('SIGTERM')
      return exited
    },
  }
}

function invite(): Promise<string> {
  return createInvite({ as: () => na.as('privileged') }, { roles: ['role:client'] })
}

describe('examples', () => {
  it('are short, and no two of them share a helper that would have to be read first', async () => {
    const names = (await readdir(EXAMPLES)).filter((name) => name.endsWith('.ts'))
    expect(names.toSorted()).toEqual([
      'agent.ts',
      'auditor.ts',
      'controller.ts',
      'gateway-caller.ts',
      'gateway-service.ts',
      'node.ts',
      'partner-agent.ts',
      'partner-service.ts',
      'relying-service.ts',
    ])
    for (const name of names) {
      const text = await readFile(join(EXAMPLES, name), 'utf8')
      expect([name, text.split('\n').length < 80, text.includes("from './")]).toEqual([name, true, false])
    }
  })

  it('node.ts joins, beats, stops cleanly, and is the same node without an invite', async () => {
    const home = { NODE_HOME: join(folder, 'node') }
    const first = run('node.ts', { ...home, INVITE: await invite() })
    const joined = await first.says('joined as')
    await first.says('heartbeat, next in')
    await first.says('revocation list')
    expect(await first.end()).toBe(0)
    expect(first.lines.at(-1)).toBe('stopped')
    const second = run('node.ts', home)
    expect((await second.says('resumed as')).slice('resumed'.length)).toBe(joined.slice('joined'.length))
    await second.says('heartbeat, next in')
    expect(await second.end()).toBe(0)
  })

  it('agent.ts finds the peer that another agent.ts announces, and leaves the registry empty', async () => {
    const printing = run('agent.ts', {
      NODE_HOME: join(folder, 'printer'),
      INVITE: await invite(),
      OFFERS: 'print',
      WANTS: 'nobody-has-this',
    })
    await printing.says('registered print')
    const asking = run('agent.ts', { NODE_HOME: join(folder, 'asker'), INVITE: await invite(), OFFERS: 'translate' })
    await asking.says('found agent-print at https://print.example.org:443')
    await once(asking.child, 'exit')
    expect(await client.agents.find(await keyOf('printer'))).toMatchObject({
      agent_id: 'agent-print',
    })
    await expect(client.agents.find(await keyOf('asker'))).rejects.toMatchObject({ status: 404 })
  })

  it('controller.ts rotates under a policy, and does nothing where the policy says no', async () => {
    const home = { NODE_HOME: join(folder, 'controller') }
    const joining = run('node.ts', { ...home, INVITE: await invite() })
    await joining.says('joined as')
    expect(await joining.end()).toBe(0)
    const { attestation_id } = await client.attestations.issue({
      subject_id: 'payments',
      subject_public_key: await keyOf('controller'),
      roles: ['role:client'],
      claims: { capabilities: ['secret.rotate'] },
    })
    const { attestation } = await client.attestations.find(attestation_id)
    await writeFile(join(folder, 'attestation.json'), writeJson(attestation))
    await client.boundaryPolicies.publish({
      policy_id: 'rotation',
      description: 'Secrets are rotated in staging only.',
      valid_from: '2020-01-01T00:00:00Z',
      valid_until: '2090-01-01T00:00:00Z',
      gates: [
        {
          gate_id: 'environment',
          gate_type: 'allowlist.v1',
          order: 0,
          config: { path: 'request_parameters.environment', values: ['staging'] },
        },
      ],
    })
    await client.boundaryPolicies.activate('rotation', { version: 1 })
    const { active } = await client.boundaryPolicies.active()
    const pins = active.map(({ policy_id, version, policy_digest }) => ({ policy_id, version, policy_digest }))
    await writeFile(join(folder, 'policy-pins.json'), JSON.stringify(pins))
    await writeFile(join(folder, 'executor.key'), writePrivateKeyFile(testSeed('rotator'), 'rotator-key'))
    const { publicKey } = await testSigner('rotator-key', 'rotator')
    const key = { key_id: 'rotator-key', public_key: publicKey, executor_sovereign_id: 'rotator' }
    await client.evidence.registerKey(key)
    await writeFile(join(folder, 'executor-keys.json'), JSON.stringify([key]))

    for (const number of [1, 2]) {
      const allowed = run('controller.ts', home)
      await allowed.says(`is number ${number} of the secret`)
      await allowed.says('stored')
      expect((await once(allowed.child, 'exit'))[0]).toBe(0)
    }
    const denied = run('controller.ts', { ...home, ENVIRONMENT: 'production' })
    await denied.says('DENY')
    expect((await once(denied.child, 'exit'))[0]).toBe(0)
    expect((await client.evidence.search({ entry_kind: 'execution' })).count).toBe(2)
  })

  it('auditor.ts finds the store sound, and keeps what it checked', async () => {
    const auditor = run('auditor.ts')
    await auditor.says('2 executions')
    await auditor.says('all entries are valid')
    expect((await once(auditor.child, 'exit'))[0]).toBe(0)
    const kept = (await readFile(join(folder, 'evidence.jsonl'), 'utf8')).split('\n').slice(0, -1)
    expect(kept).toHaveLength((await client.evidence.status()).entries)
  })

  it('relying-service.ts accepts a member, refuses other callers, and refuses the member after its revocation', async () => {
    const service = run('relying-service.ts')
    const address = (await service.says('listening on ')).slice('listening on '.length)
    const node = await joinNetwork({
      url: na.url,
      genesis: await readGenesisFile(env['GENESIS'] ?? ''),
      store: new FileNodeStore(join(folder, 'caller')),
      invite: await invite(),
    })
    try {
      const call = node.fetchWith({ audience: 'https://print.example.org' })
      const answer = await call(`${address}/print?copies=2`, { method: 'POST', body: 'text' })
      expect([answer.status, await answer.json()]).toEqual([200, { hello: node.publicKey, roles: ['role:client'] }])
      expect((await fetch(`${address}/print`)).status).toBe(401)
      await client.crl.revoke({ cert_ids: [node.certificate.cert_id] })
      service.child.kill('SIGHUP')
      for (let tries = 0; ; tries += 1) {
        const { status } = await call(`${address}/print`, { method: 'GET' })
        if (status === 403) break
        if (tries > 100) throw new Error(`still ${status}`)
        await pause(20)
      }
      await service.says('refused: certificate_untrusted Revoked')
    } finally {
      await node.stop()
    }
    expect(await service.end()).toBe(0)
  })
})

async function keyOf(name: string): Promise<string> {
  return (await new FileNodeStore(join(folder, name)).signer()).publicKey
}
