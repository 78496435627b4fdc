import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import {
  readGenesisBlock,
  readJoinCertificate,
  readJson,
  readPrivateKeyFile,
  verifyJoinCertificate,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { detailsOf } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Reply, refused, startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeEach(async () => {
  network = await openNetwork()
})
afterEach(() => network.close())

function read(...names: string[]): Promise<string> {
  return readFile(network.setup.path(...names), 'utf8')
}

function line(more = ''): string {
  return `join --home node --url ${network.na.url} ${more}`
}

async function isUnused(token: string): Promise<boolean> {
  const { code } = await network.run(line(), { stdin: token })
  return code === 0
}

describe('join', () => {
  it('leaves a home that holds key, certificate, genesis block and configuration', async () => {
    const { code, stdout } = await network.join('node')
    expect(code).toBe(0)
    const certificate = readJoinCertificate(readJson(await read('node', 'certificate.json')))
    const genesis = readGenesisBlock(readJson(await read('node', 'genesis.json')))
    const against = {
      network_name: 'TEST-NET',
      authorityKey: genesis.network_authority.public_key,
      now: network.clock.now(),
    }
    expect(await verifyJoinCertificate(certificate, against)).toEqual({ ok: true })
    expect(certificate.expires_at).toBe('2030-01-09T03:00:00Z')
    expect((await readdir(network.setup.path('node'))).sort()).toEqual([
      'certificate.json',
      'chancery.toml',
      'genesis.json',
      'node.key',
      'node.pub',
    ])
    expect(stdout.split('\n').map((each) => each.trimEnd())).toEqual([
      'Joined TEST-NET.',
      `  certificate  ${certificate.cert_id}`,
      '  roles        role:client',
      '  valid until  2030-01-09T03:00:00Z',
      '  node key     ./node/node.key (new; readable by you only)',
      `  network      ${genesisFingerprint(genesis)} (as you named it)`,
      '',
      'Next:',
      '  chancery node run --home ./node',
      '  chancery status --home ./node',
      '',
    ])
  })

  it('lets only the owner into the home and its key, and prints neither key nor token', async () => {
    const token = await network.invite()
    const { stdout, stderr } = await network.run(line('--json'), { stdin: `${token}\n` })
    expect((await stat(network.setup.path('node'))).mode & 0o777).toBe(0o700)
    expect((await stat(network.setup.path('node', 'node.key'))).mode & 0o777).toBe(0o600)
    const seed = readPrivateKeyFile(await read('node', 'node.key'))?.value ?? 'none'
    for (const secret of [token, seed]) expect(stdout + stderr).not.toContain(secret)
  })

  it('requests the given hours, and the invite limits them', async () => {
    const token = await network.invite('--max-validity-hours 10 --role role:anchor --role role:service:index')
    const { json } = await network.run(line('--json --validity-hours 48'), { stdin: token })
    expect(json()['certificate']).toMatchObject({
      roles: ['role:anchor', 'role:service:index'],
      expires_at: '2030-01-02T13:00:00Z',
    })
  })

  it('keeps the key of an earlier join and replaces the certificate', async () => {
    await network.join('node')
    const [key, before] = [await read('node', 'node.key'), await read('node', 'certificate.json')]
    // No address: the home knows it.
    const { code, stderr, json } = await network.run('join --home node --json', { stdin: await network.invite() })
    expect([code, json()['new_key']]).toEqual([0, false])
    expect(stderr).toContain('is replaced')
    expect(await read('node', 'node.key')).toBe(key)
    expect(await read('node', 'certificate.json')).not.toBe(before)
  })

  it('warns when others can read the key', async () => {
    await network.join('node')
    await chmod(network.setup.path('node', 'node.key'), 0o644)
    expect((await network.run('join --home node', { stdin: await network.invite() })).stderr).toContain('chmod 600')
  })
})

describe('the token', () => {
  it('is read from a file', async () => {
    await writeFile(network.setup.path('t'), `${await network.invite()}\n`)
    expect((await network.run(line('--token-file t'))).code).toBe(0)
  })

  it('is taken from the line with a warning', async () => {
    const { code, stderr } = await network.run(line(`--token ${await network.invite()}`))
    expect(code).toBe(0)
    expect(stderr).toContain('--token-file')
  })

  it('is asked for on a terminal, unseen', async () => {
    const questions: string[] = []
    const token = await network.invite()
    const secret = (question: string): Promise<string> => {
      questions.push(question)
      return Promise.resolve(token)
    }
    expect((await network.run(line('--no-color'), { isTTY: true, prompts: { secret } })).code).toBe(0)
    expect(questions).toEqual(['Invite token'])
  })

  it.each([
    ['nothing', '', {}],
    ['two words', '', { stdin: 'a b' }],
    ['too much', '', { stdin: 'x'.repeat(5000) }],
    ['both ways', '--token a --token-file b', {}],
    ['an empty file', '--token-file empty', {}],
  ])('is refused before anything is asked: %s', async (_name, more, options) => {
    await writeFile(network.setup.path('empty'), '\n')
    const { code, stderr } = await network.run(line(more), options)
    expect(code).toBe(2)
    expect(stderr).not.toContain('xxxxx')
    await expect(readdir(network.setup.path('node'))).rejects.toThrow('ENOENT')
  })

  it('works once', async () => {
    const token = await network.invite()
    expect((await network.run(line(), { stdin: token })).code).toBe(0)
    const { code, stderr } = await network.run('join --home other', {
      stdin: token,
      env: { CHANCERY_CONFIG: 'node/chancery.toml' },
    })
    expect(code).toBe(1)
    expect(stderr).toContain('(invalid_invite_token)')
    expect(stderr).toContain('Ask an operator for a new invite (chancery invite create)')
  })

  it('works for its recipient only', async () => {
    await network.run('keygen node --out other')
    const token = await network.invite('--recipient other.pub')
    expect((await network.run(line(), { stdin: token })).code).toBe(1)
    await mkdir(network.setup.path('mine'))
    for (const end of ['key', 'pub'])
      await writeFile(network.setup.path('mine', `node.${end}`), await read(`other.${end}`), { mode: 0o600 })
    expect((await network.run(line().replace('node', 'mine'), { stdin: token })).code).toBe(0)
  })
})

describe('the authority', () => {
  const fingerprint = (): string => genesisFingerprint(network.na.genesis)

  it('is pinned on first use, with its fingerprint to compare', async () => {
    const { code, stdout, stderr } = await network.run(line(), { stdin: await network.invite() })
    expect(code).toBe(0)
    expect(stderr).toContain(`trusted on first use; compare the fingerprint ${fingerprint()}`)
    expect(stdout).toContain(`${fingerprint()} (trusted on first use: compare it)`)
    expect((await network.run('verify node/genesis.json')).stdout).toContain(fingerprint())
  })

  it('may be named by fingerprint', async () => {
    const { code, stderr } = await network.run(line(`--genesis ${fingerprint().toUpperCase().replace('SHA', 'sha')}`), {
      stdin: await network.invite(),
    })
    expect([code, stderr]).toEqual([0, ''])
  })

  it('that is another one gets no token', async () => {
    const token = await network.invite()
    const wrong = `sha256:${'0'.repeat(64)}`
    const { code, stderr } = await network.run(line(`--genesis ${wrong}`), { stdin: token })
    expect(code).toBe(1)
    expect(stderr).toContain('is not the authority of the pinned network')
    expect(stderr).toContain('The token was not sent')
    await expect(readdir(network.setup.path('node'))).rejects.toThrow('ENOENT')
    expect(await isUnused(token)).toBe(true)
  })

  it('that has changed since the first join gets no token', async () => {
    await network.join('node')
    await network.setup.run('init --home other --name TEST-NET', { now: () => network.clock.now() })
    await writeFile(network.setup.path('node', 'genesis.json'), await read('other', 'genesis.json'))
    const { code, stderr } = await network.run('join --home node', { stdin: await network.invite() })
    expect(code).toBe(1)
    expect(stderr).toContain('node/genesis.json is sha256:')
  })

  it('must agree with the configured block, too', async () => {
    await network.setup.run('init --home other --name TEST-NET', { now: () => network.clock.now() })
    const { code, errorJson } = await network.run(`${line()} --home other --json`, { stdin: 'token' })
    expect(code).toBe(1)
    expect(errorJson()).toMatchObject({ error: { code: 'genesis_mismatch' } })
  })

  it.each([
    ['join --home node', '--url must be given'],
    ['join --home node --url http://x --genesis sha256:12', 'A fingerprint reads sha256:'],
    ['join --home node --url http://x --valid-for 0h', '--validity-hours must be a whole number, at least 1'],
  ])('%s is called wrongly', async (given, problem) => {
    const { code, stderr } = await network.run(given, { stdin: 'token' })
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })
})

describe('a home', () => {
  it('of an authority is left alone', async () => {
    await network.setup.run('init --home node --name X')
    const before = await read('node', 'chancery.toml')
    const { code, stderr } = await network.run(line(), { stdin: 'token' })
    expect(code).toBe(1)
    expect(stderr).toContain('is not the folder of a node')
    expect(await read('node', 'chancery.toml')).toBe(before)
  })

  it('with a key of the operator is refused by the authority, in words', async () => {
    await mkdir(network.setup.path('node'))
    await writeFile(network.setup.path('node', 'node.key'), await read('privileged.key'), { mode: 0o600 })
    const { code, stderr } = await network.run(line(), { stdin: await network.invite() })
    expect(code).toBe(1)
    expect(stderr).toContain('(invalid_public_key)')
    expect(stderr).toContain('keygen node')
  })
})

describe('an answer', () => {
  async function joinAt(reply: (route: string) => Reply | undefined): Promise<{ code: number; stderr: string }> {
    const keys = { audience: network.na.genesis.network_authority.public_key, operator: '' }
    const server = await startFakeAuthority(keys, ({ route }) => reply(route) ?? { json: network.na.genesis })
    try {
      return await network.run(`join --home node --url ${server.url}`, { stdin: 'token' })
    } finally {
      await server.close()
    }
  }

  it('with a certificate of another node is not saved', async () => {
    const other = (await network.join('other', '--json')).json()['certificate'] as JsonObject
    const { code, stderr } = await joinAt((route) =>
      route === 'POST /join' ? { status: 201, json: other } : undefined,
    )
    expect(code).toBe(1)
    expect(stderr).toContain('it belongs to another node key')
    expect(await readdir(network.setup.path('node'))).not.toContain('certificate.json')
  })

  it('with a forged genesis block ends it', async () => {
    const forged = readJson(writeJson({ ...network.na.genesis, network_name: 'OTHER' }))
    const { code, stderr } = await joinAt(() => ({ json: forged }))
    expect(code).toBe(1)
    expect(stderr).toContain('does not verify (invalid_signature)')
  })

  it('of unknown outcome says that the token may be spent', async () => {
    const { stderr } = await joinAt((route) =>
      route === 'POST /join' ? refused('service_unavailable', { outcome: 'unknown' }) : undefined,
    )
    expect(stderr).toContain('the token may be used up')
    expect(stderr).toContain('Run the same command again')
  })
})

describe('the audit trail', () => {
  it('shows the certificate that was joined for', async () => {
    const { json } = await network.join('node', '--json')
    const [event] = await network.na.auditEvents('certificate_issued')
    const { cert_id } = json()['certificate'] as JsonObject
    expect(detailsOf(event)['cert_id']).toBe(cert_id)
  })
})
