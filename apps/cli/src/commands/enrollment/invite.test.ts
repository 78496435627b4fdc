import { readFile, stat, writeFile } from 'node:fs/promises'
import { detailsOf } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork({ NA_ALLOWED_ROLES: 'role:client,role:service:*' })
})
afterAll(() => network.close())

describe('invite', () => {
  it('shows the token once, says that it is a secret and how to use it', async () => {
    const { code, stdout, stderr } = await network.asOperator('invite create')
    expect([code, stderr]).toEqual([0, ''])
    const token = /token +(\S+)/.exec(stdout)?.[1] ?? ''
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(stdout.split(token)).toHaveLength(2)
    expect(stdout).toContain('The token is a secret and works once')
    const pin = genesisFingerprint(network.na.genesis)
    expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
      'Next, on the node, which asks for the token:',
      `  chancery join --home ./node --url ${network.na.url} --genesis ${pin}`,
    ])
  })

  it('prints a line that works', async () => {
    const { json } = await network.asOperator('invite create --json --out t1')
    const { code } = await network.run(String(json()['join']).replace('chancery ', '').replace('./node', 'joined'))
    expect(code).toBe(0)
  })

  it('keeps the token off the screen with --out', async () => {
    const { stdout, stderr, json } = await network.asOperator('invite create --json --out t2')
    const token = (await readFile(network.setup.path('t2'), 'utf8')).trim()
    expect(token).toHaveLength(43)
    expect(stdout + stderr).not.toContain(token)
    expect(json()).not.toHaveProperty('token_id')
    expect((await stat(network.setup.path('t2'))).mode & 0o777).toBe(0o600)
  })

  it('makes no invite when the file is there already', async () => {
    await writeFile(network.setup.path('t3'), 'precious')
    const before = (await network.na.auditEvents('invite_created')).length
    const { code, stderr } = await network.asOperator('invite create --out t3')
    expect(code).toBe(1)
    expect(stderr).toContain('exists already')
    expect(await network.na.auditEvents('invite_created')).toHaveLength(before)
  })

  it('passes on every choice', async () => {
    await network.run('keygen node --out n')
    const key = (await network.run('keygen node --out m --json')).json()['public_key']
    const { json } = await network.asOperator(
      'invite create --json --role role:service:a --role role:client --valid-for 10h --expires-in 2h --node m.pub',
    )
    expect(json()).toMatchObject({
      roles: ['role:service:a', 'role:client'],
      max_validity_hours: 10,
      recipient_public_key: key,
      expires_at: '2030-01-02T05:00:00Z',
    })
    const event = (await network.na.auditEvents('invite_created')).at(-1)
    expect(detailsOf(event)).toMatchObject({ roles: ['role:service:a', 'role:client'], recipient_public_key: key })
  })

  it.each([
    ['--role client', '--role: a role has the form role:<name>'],
    ['--role role:a --role role:a', '--role: repeats an item'],
    ['--max-validity-hours 8761', '--max-validity-hours must be a whole number from 1 to 8760'],
    ['--token-expiry-hours 0', '--token-expiry-hours must be a whole number from 1 to 720'],
    ['--token-expiry-hours 1.5', '--token-expiry-hours must be a whole number'],
    ['--recipient nobody.pub', '--recipient is neither'],
  ])('refuses %s', async (flags, problem) => {
    const { code, stderr } = await network.asOperator(`invite create ${flags}`)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  it('says which roles may be granted when the authority knows better', async () => {
    const { code, stderr } = await network.asOperator('invite create --role role:anchor')
    expect(code).toBe(1)
    expect(stderr).toContain('(invalid_role)')
    expect(stderr).toContain('NA_ALLOWED_ROLES')
  })

  it('may be made by any operator', async () => {
    const { code } = await network.asOperator('invite create --operator-key standard.key')
    expect(code).toBe(0)
  })

  it('needs an operator', async () => {
    const { code, stderr } = await network.run(`invite create --url ${network.na.url}`)
    expect(code).toBe(2)
    expect(stderr).toContain('needs an operator key')
  })
})

describe('invites of a fleet', () => {
  it('writes the tokens to a file only the owner can read, and nowhere else', async () => {
    const { code, stdout, stderr, json } = await network.asOperator('invite create --count 1000 --out fleet --json')
    expect(code).toBe(0)
    const tokens = (await readFile(network.setup.path('fleet'), 'utf8')).trim().split('\n')
    expect(new Set(tokens).size).toBe(1000)
    expect(tokens[0]).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(tokens.some((token) => `${stdout}${stderr}`.includes(token))).toBe(false)
    expect((await stat(network.setup.path('fleet'))).mode & 0o777).toBe(0o600)
    expect(json()).toMatchObject({ count: 1000, roles: ['role:client'] })
    await network.run(`join --home fleet-node --url ${network.na.url} --genesis genesis.json`, {
      stdin: tokens[7] ?? '',
    })
    const batch = String(json()['batch_id'])
    const left = await network.asOperator(`invite list --tokens --batch ${batch} --all --json`)
    expect(left.json()).toMatchObject({ count: 999 })
    const used = await network.asOperator(`invite list --tokens --batch ${batch} --state used`)
    expect(used.stdout).toMatch(/^FINGERPRINT +STATE +ROLES +MADE BY +MADE AT +END\n[0-9a-f]{16} +used/)
    const dry = await network.asOperator(`invite withdraw --batch ${batch} --dry-run`)
    expect(dry.stdout).toContain('999 invites could not be used any more.')
    const ended = await network.asOperator(`invite withdraw --batch ${batch} --yes --json`)
    expect(ended.json()).toMatchObject({ withdrawn: 999, unknown_fingerprints: [] })
  })

  it('prints them only when asked', async () => {
    const silent = await network.asOperator('invite create --count 2')
    expect([silent.code, silent.stdout]).toEqual([2, ''])
    expect(silent.stderr).toContain('--count needs --out or --print, not both')
    const { code, stdout } = await network.asOperator('invite create --count 2 --print')
    expect(code).toBe(0)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .slice(-2)
        .every((line) => /^[A-Za-z0-9_-]{43}$/.test(line)),
    ).toBe(true)
  })

  it('makes none when the file is there, or for a single recipient', async () => {
    await writeFile(network.setup.path('taken'), 'precious')
    const before = (await network.na.auditEvents('invites_created')).length
    expect((await network.asOperator('invite create --count 2 --out taken')).stderr).toContain('exists already')
    await network.run('keygen node --out single')
    expect((await network.asOperator('invite create --count 2 --out f2 --node single.pub')).code).toBe(2)
    expect(await network.na.auditEvents('invites_created')).toHaveLength(before)
  })

  it('withdraws by fingerprint and says what it does not know', async () => {
    const { json } = await network.asOperator('invite list --tokens --limit 1 --json')
    const [row] = json()['invites'] as { token_fingerprint: string }[]
    const mark = row?.token_fingerprint ?? ''
    const done = await network.asOperator(`invite withdraw ${mark} ffffffffffffffff --yes`)
    expect(done.stdout).toBe('Withdrew 1 invite.\nUnknown here: ffffffffffffffff.\n')
    const unknown = await network.asOperator('invite withdraw ffffffffffffffff --yes')
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain('invite list --tokens --state all')
    expect((await network.asOperator('invite withdraw --yes')).code).toBe(2)
    expect((await network.asOperator('invite withdraw xyz --yes')).stderr).toContain('never give the token')
  })

  it('shows what an operator key did', async () => {
    const { code, stdout } = await network.asOperator('operator list op-privileged --days 1')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^EVENT +COUNT +FIRST +LAST\n/)
    expect(stdout).toMatch(/invites_created +\d+ +2030-01-02T03:00:00Z/)
    expect(stdout).toContain('can still be used: chancery invite withdraw --created-by op-privileged')
  })
})

describe('nodes', () => {
  it('prints the count without an operator key', async () => {
    await network.join('node')
    const { code, stdout } = await network.run(`node list --url ${network.na.url}`)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d+ active nodes?\.\n$/)
    expect((await network.asOperator('node list --json')).json()).toEqual({ count: expect.any(Number) as number })
  })

  it('lists for an operator', async () => {
    const { json: joined } = await network.join('listed', '--json')
    const { json } = await network.asOperator('node list --json')
    const { cert_id } = joined()['certificate'] as { cert_id: string }
    expect(json()['nodes']).toHaveProperty(cert_id, {
      node_public_key: joined()['node_public_key'],
      roles: ['role:client'],
      status: 'joined',
      last_heartbeat: '2030-01-02T03:00:00Z',
      remote_addr: '127.0.0.1',
      expires_at: '2030-01-09T03:00:00Z',
      label: null,
    })
    const { stdout } = await network.asOperator('node list')
    expect(stdout).toMatch(/^CERTIFICATE +STATUS +LABEL +LAST HEARTBEAT +ROLES +EXPIRES +ADDRESS +NODE KEY\n/)
    expect(stdout).toContain(`${cert_id}  joined`)
  })

  it('are named by operators, and found by their labels in the list of certificates', async () => {
    const { json: joined } = await network.join('named', '--json')
    const key = String(joined()['node_public_key'])
    const { cert_id } = joined()['certificate'] as { cert_id: string }
    expect((await network.asOperator(`node label ${key} Berlin-7`)).stdout).toBe(`Set the label Berlin-7 of ${key}.\n`)
    const { stdout } = await network.asOperator('node list --certificates --label berlin --state valid')
    expect(stdout).toMatch(/^CERTIFICATE +STATE +LABEL +ROLES +ISSUED +EXPIRES +LAST HEARTBEAT +NODE KEY\n/)
    expect(stdout).toContain(`${cert_id}  valid  Berlin-7`)
    expect(stdout).toContain('\n\n1 certificate.\n')
    const found = await network.asOperator(`node list --certificates --node ${key} --json --all`)
    expect(found.json()).toMatchObject({ count: 1, total: 1, certificates: [{ cert_id, label: 'Berlin-7' }] })
    expect((await network.asOperator('node list --certificates --limit 1')).stdout).toMatch(
      /Shows 1 of \d+\. Add --all/,
    )
    expect((await network.asOperator(`node label ${key}`)).stderr).toContain('Give a label, or --remove.')
    expect((await network.asOperator(`node label ${key} --remove`)).stdout).toBe(`Removed the label of ${key}.\n`)
    expect((await network.asOperator('node list --certificates --label berlin')).stdout).toBe('No certificate.\n')
    expect((await network.asOperator('invite create --label Berlin --count 2 --print')).stderr).toContain(
      'names one node',
    )
    expect((await network.asOperator('invite create --label Berlin')).stdout).toMatch(/label +Berlin/)
  })

  it('never shows the public answer in place of a refused roster', async () => {
    await network.run('keygen operator --out unknown --key-id op-privileged')
    const { code, stdout, stderr } = await network.asOperator('node list --operator-key unknown.key')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('(admin_auth_failed)')
  })
})
