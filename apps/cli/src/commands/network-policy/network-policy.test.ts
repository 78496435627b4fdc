import { readFile, rm, writeFile } from 'node:fs/promises'
import { type PolicyManifest, asJson, readPrivateKeyFile, readPublicKeyFile, writeJson } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { refused, signedPolicy, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import type { RecordedCall, Reply, FakeAuthority } from '../../testing/fake-authority.suite.ts'
import { type CommandRun, TestContext, type TestContextOptions } from '../../testing/run-command.suite.ts'

let setup: TestContext
let server: FakeAuthority
let policy: PolicyManifest
let reply: (asked: RecordedCall, count: number) => Reply

async function read(name: string): Promise<string> {
  return readFile(setup.path('na', name), 'utf8')
}

beforeEach(async () => {
  setup = await TestContext.make()
  await setup.run('init --home na --name EXAMPLE-NET')
  const audience = readPublicKeyFile(await read('keys/network-authority.pub'))?.value ?? ''
  const operator = readPublicKeyFile(await read('keys/operator.pub'))?.value ?? ''
  policy = await signedPolicy(readPrivateKeyFile(await read('keys/network-authority.key'))?.value ?? '', 'p-1')
  reply = () => ({ json: policy })
  server = await startFakeAuthority({ audience, operator, genesis: setup.path('na', 'genesis.json') }, (asked, count) =>
    reply(asked, count),
  )
})
afterEach(async () => {
  await server.close()
  await setup.remove()
})

function run(line: string, options: TestContextOptions = {}): Promise<CommandRun> {
  return setup.run(`network-policy ${line} --home na --url ${server.url}`, options)
}

describe('policy show network', () => {
  it('prints the manifest and that its signature holds', async () => {
    const { code, stdout } = await run('show')
    expect(code).toBe(0)
    expect(stdout).toContain('p-1\n')
    expect(stdout).toContain('allowed ports     443, 8443')
    expect(stdout).toContain('valid, by the authority of the configured genesis block')
    expect(server.asked).toMatchObject([{ route: 'GET /policy', isSigned: false }])
  })

  it('prints exactly the manifest with --json', async () => {
    expect((await run('show --json')).stdout).toBe(`${writeJson(policy)}\n`)
  })

  it('refuses a manifest the pinned authority did not sign', async () => {
    reply = () => ({ json: asJson({ ...policy, allowed_ports: [1] }) })
    const { code, stdout, stderr } = await run('show')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('is not signed by the authority of')
  })

  it('says so when nothing pins the authority', async () => {
    const { code, stdout } = await setup.run(`policy show network --url ${server.url}`)
    expect(code).toBe(0)
    expect(stdout).toContain('not checked (no genesis block is configured)')
  })

  it('refuses every authority when the pinned genesis block is missing', async () => {
    await rm(setup.path('na', 'genesis.json'))
    const { code, stderr } = await run('show')
    expect(code).toBe(2)
    expect(stderr).toContain('genesis.json cannot be read')
    expect(server.asked).toHaveLength(0)
  })

  it('lists all pages of the history, signed', async () => {
    const version = { policy_id: 'p-1', active: true, created_at: '2030-01-02T03:00:00Z', policy }
    reply = (_asked, count) => ({
      json: {
        versions: [{ ...version, policy_id: `p-${count}`, active: count === 1 }],
        next_cursor: count < 3 ? `c${count}` : null,
      },
    })
    const { code, stdout } = await run('show --history')
    expect(code).toBe(0)
    expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
      '        POLICY ID  CREATED               MIN CLIENT  PORTS',
      'active  p-1        2030-01-02T03:00:00Z  0.1.0       443,8443',
      '        p-2        2030-01-02T03:00:00Z  0.1.0       443,8443',
      '        p-3        2030-01-02T03:00:00Z  0.1.0       443,8443',
      '',
    ])
    expect(server.asked.map(({ route }) => route)).toEqual([
      'GET /admin/policy/history',
      'GET /admin/policy/history?cursor=c1',
      'GET /admin/policy/history?cursor=c2',
    ])
  })

  it('names the command that starts a stopped authority', async () => {
    await server.close()
    const { code, stderr } = await run('show')
    expect(code).toBe(1)
    expect(stderr).toContain('(ECONNREFUSED)')
    expect(stderr).toContain('Start it with: chancery authority start --env-file ./na/authority.env')
  })

  it('says when something else answers', async () => {
    reply = () => ({ json: { hello: 'world' } })
    const { code, errorJson } = await run('show --json')
    expect(code).toBe(1)
    expect(errorJson()).toMatchObject({ error: { code: 'unusable_answer', request_id: 'r-1' } })
  })
})

describe('policy publish', () => {
  it('sends the file, signed, and prints what came into force', async () => {
    await writeFile(setup.path('p.json'), '{"policy_id":"p-1","allowed_ports":[443]}')
    reply = () => ({ status: 201, json: policy })
    const { code, stdout } = await run('publish p.json')
    expect(code).toBe(0)
    expect(stdout).toContain('Published and active:')
    expect(server.asked).toEqual([
      { route: 'POST /admin/policy', body: { policy_id: 'p-1', allowed_ports: [443] }, isSigned: true },
    ])
  })

  it('says when the version was there before', async () => {
    await writeFile(setup.path('p.json'), '{}')
    expect((await run('publish p.json')).stdout).toContain('was stored before')
  })

  it.each([
    ['{', 'is not JSON'],
    ['[]', 'must contain a JSON object'],
    ['{"a":1,"a":2}', 'a member name is repeated'],
  ])('sends nothing for %s', async (text, problem) => {
    await writeFile(setup.path('p.json'), text)
    const { code, stderr } = await run('publish p.json')
    expect(code).toBe(1)
    expect(stderr).toContain(problem)
    expect(server.asked).toHaveLength(0)
  })

  it('names the field to fix', async () => {
    await writeFile(setup.path('p.json'), '{"routing":{"max_hops":99}}')
    reply = () => refused('invalid_policy', { field: 'routing.max_hops' })
    const { code, stderr } = await run('publish p.json')
    expect(code).toBe(1)
    expect(stderr).toContain('(invalid_policy)')
    expect(stderr).toContain('Fix the field routing.max_hops')
    expect(stderr).toContain('request r-1')
  })

  it('asks for an operator key when none is known', async () => {
    await writeFile(setup.path('p.json'), '{}')
    const { code, stderr } = await setup.run(`policy publish p.json --url ${server.url}`)
    expect(code).toBe(2)
    expect(stderr).toContain('Give --operator-key <file>')
  })
})

describe('policy activate network', () => {
  beforeEach(() => {
    const version = { policy_id: 'p-1', active: false, created_at: '2030-01-01T00:00:00Z', policy }
    reply = ({ route }) => ({
      json: route.startsWith('GET /admin/policy/history') ? { versions: [asJson(version)] } : policy,
    })
  })

  it('asks first and names the authority', async () => {
    const questions: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      questions.push(question)
      return Promise.resolve(true)
    }
    const { code, stdout } = await run('rollback p-1 --no-color', { isTTY: true, prompts: { confirm } })
    expect(code).toBe(0)
    expect(stdout).toContain('Active again:')
    expect(questions).toEqual([`Make p-1 the active policy at ${server.url}?`])
    expect(server.asked.slice(1)).toMatchObject([
      { route: 'POST /admin/policy/rollback', body: { policy_id: 'p-1' }, isSigned: true },
    ])
  })

  it('does nothing after a no', async () => {
    const { code, stderr } = await run('rollback p-1', {
      isTTY: true,
      prompts: { confirm: () => Promise.resolve(false) },
    })
    expect(code).toBe(1)
    expect(stderr).toContain('nothing was changed')
    expect(server.asked.map(({ route }) => route)).not.toContain('POST /admin/policy/rollback')
  })

  it('names an unknown version before it asks', async () => {
    const { code, stderr } = await run('rollback p-2', { isTTY: true })
    expect(code).toBe(1)
    expect(stderr).toContain('No policy version with this id is stored.')
    expect(stderr).toContain('chancery policy list')
  })

  it('needs --yes where the terminal is not interactive', async () => {
    const { code, stderr } = await run('rollback p-1')
    expect(code).toBe(2)
    expect(stderr).toContain('add --yes')
    expect((await run('rollback p-1 --yes')).code).toBe(0)
  })
})
