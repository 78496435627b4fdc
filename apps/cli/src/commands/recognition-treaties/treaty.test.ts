import { writeFile } from 'node:fs/promises'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network = undefined as unknown as RealNetwork
let [key, newKey] = ['', '']
beforeAll(async () => {
  network = await openNetwork()
  key = (await testSigner('na-partner', 'partner na')).publicKey
  newKey = (await testSigner('na-partner', 'partner na 2')).publicKey
})
afterAll(() => network.close())

let counter = 0

/** Issues a treaty with a network that no other test uses. */
async function issue(flags = '--role role:client --role role:service'): Promise<{ id: string; subject: string }> {
  counter += 1
  const subject = `PARTNER-${counter}`
  const { json } = await network.asOperator(`treaty issue ${subject} --key ${key} ${flags} --json`)
  return { id: String(json()['treaty_id']), subject }
}

async function rowOf(id: string): Promise<JsonObject> {
  const { json } = await network.asOperator(`treaty show ${id} --json`)
  return json()
}

describe('treaty issue', () => {
  it('shows what was signed', async () => {
    const line = `treaty issue OTHER-NET --key ${key} --role role:client --valid-for 24h --metadata note=a`
    const { code, stdout } = await network.asOperator(line)
    expect(code).toBe(0)
    for (const part of ['TEST-NET', 'OTHER-NET', 'role:client', '2030-01-03T03:00:00Z', key, 'note=a'])
      expect(stdout).toContain(part)
  })

  it('signs the capabilities that decisions may allow its members', async () => {
    const line = `treaty issue LEDGER-NET --key ${key} --role role:client --capability ledger.* --capability vault.open`
    const { json } = await network.asOperator(`${line} --json`)
    expect(json()).toMatchObject({ scope: { claims: { capabilities: ['ledger.*', 'vault.open'] } } })
    const { stdout } = await network.asOperator(`treaty show ${String(json()['treaty_id'])}`)
    expect(stdout).toMatch(/capabilities +ledger\.\*, vault\.open\n/)
  })

  it('warns that a treaty without roles accepts no member', async () => {
    const { stderr, stdout } = await network.asOperator(`treaty issue EMPTY-NET --key ${key}`)
    expect(stderr).toContain('no member of the network is accepted')
    expect(stdout).toContain('none: no member is accepted')
  })

  it.each([
    ['treaty issue TEST-NET --key KEY', 'A network cannot recognise itself'],
    ['treaty issue X --key KEY --role client', 'A role reads role:<name>'],
    ['treaty issue X --key KEY --key KEY', 'names one key twice'],
    ['treaty issue X --key nonsense', 'neither a .pub file'],
    ['treaty issue X --key KEY --accept-status well', '--accept-status must be one of'],
    ['treaty issue X --key KEY --capability *.read', '--capability must be a capability or a pattern'],
    ['treaty issue X --key KEY --valid-for 0h', 'whole number from 1 to 26280'],
  ])('%s is explained', async (line, hint) => {
    const { code, stderr } = await network.asOperator(line.replaceAll('KEY', key))
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(hint)
  })
})

describe('treaty renew', () => {
  it('issues the same again, then ends the old one as renewed', async () => {
    const { id, subject } = await issue('--role role:client --validity-hours 48')
    const { code, json } = await network.asOperator(`treaty renew ${id} --json`)
    expect(code).toBe(0)
    const treaty = json()['treaty'] as JsonObject
    expect(treaty).toMatchObject({ subject_sovereign_id: subject, expires_at: '2030-01-04T03:00:00Z' })
    expect(await rowOf(id)).toMatchObject({
      accepted: false,
      reason: 'locally_revoked',
      lifecycle: { state: 'replaced', revocation_reason: `renewed_by:${String(treaty['treaty_id'])}` },
    })
    const again = await network.asOperator(`treaty renew ${id}`)
    expect(again.code).toBe(1)
    expect(again.stderr).toContain(`It was followed by ${String(treaty['treaty_id'])}`)
  })

  it('may be for another time', async () => {
    const { id } = await issue()
    const { stdout } = await network.asOperator(`treaty renew ${id} --valid-for 720h`)
    expect(stdout).toContain('2030-02-01T03:00:00Z')
  })
})

describe('treaty renew', () => {
  it('shows what the new terms leave out, then replaces', async () => {
    const { id, subject } = await issue()
    const { code, stderr, stdout } = await network.asOperator(
      `treaty renew ${id} --role role:client --key ${newKey} --yes`,
    )
    expect(code).toBe(0)
    expect(stderr).toContain(`all attestations of ${subject}`)
    expect(stderr).toContain('  roles: role:service\n')
    expect(stderr).toContain(`  keys: ${key}\n`)
    expect(stdout).toContain(`Replaced treaty ${id} by:`)
    const row = await rowOf(id)
    expect((row['lifecycle'] as JsonObject)['revocation_reason']).toMatch(/^replaced_by:/)
    const path = await network.asOperator(`partner show ${subject} --path-from TEST-NET`)
    expect(path.code).toBe(0)
  })

  it('replaces the capabilities and leaves out nothing else', async () => {
    const { id } = await issue('--role role:client --capability ledger.* --capability vault.open')
    const { json } = await network.asOperator(`treaty renew ${id} --capability ledger.* --yes --json`)
    expect(json()).toMatchObject({
      treaty: { scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } } },
      forecast: { no_longer_accepted: { roles: [], capabilities: ['vault.open'], keys: [] } },
    })
    const renewed = await network.asOperator(
      `treaty renew ${String((json()['treaty'] as JsonObject)['treaty_id'])} --json`,
    )
    expect(renewed.json()).toMatchObject({ treaty: { scope: { claims: { capabilities: ['ledger.*'] } } } })
  })

  it('changes nothing with --dry-run', async () => {
    const { id } = await issue()
    const { json } = await network.asOperator(`treaty renew ${id} --role role:client --dry-run --json`)
    expect(json()).toMatchObject({
      dry_run: true,
      no_longer_accepted: { roles: ['role:service'], capabilities: [], keys: [] },
    })
    expect(await rowOf(id)).toMatchObject({ accepted: true })
  })

  it('needs something to change', async () => {
    const { id } = await issue()
    expect((await network.asOperator(`treaty renew ${id} --yes`)).code).toBe(2)
  })
})

describe('treaty revoke', () => {
  it('asks with what would be lost on the screen', async () => {
    const { id, subject } = await issue()
    const answers: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      answers.push(question)
      return Promise.resolve(false)
    }
    const { code, stderr } = await network.asOperator(`treaty revoke ${id}`, { isTTY: true, prompts: { confirm } })
    expect(code).toBe(1)
    expect(stderr).toContain(`TEST-NET ──▶ ${subject}`)
    expect(answers).toEqual([`End treaty ${id} at ${network.na.url}? This cannot be undone.`])
    expect(await rowOf(id)).toMatchObject({ accepted: true })
  })

  it('only shows it with --dry-run, and may be repeated', async () => {
    const { id } = await issue()
    const dry = await network.asOperator(`treaty revoke ${id} --dry-run --json`)
    expect(dry.json()).toMatchObject({ dry_run: true, would_change: true, paths_lost: { count: 1 } })
    expect(await rowOf(id)).toMatchObject({ accepted: true })
    for (const wouldChange of [true, false]) {
      const { code, json } = await network.asOperator(`treaty revoke ${id} --reason ended --yes --json`)
      expect(code).toBe(0)
      expect(json()).toMatchObject({ status: 'revoked', forecast: { would_change: wouldChange } })
    }
  })

  it('explains an unknown id', async () => {
    const { code, stderr } = await network.asOperator('treaty revoke nothing --yes')
    expect(code).toBe(1)
    expect(stderr).toContain('chancery treaty list')
  })
})

describe('treaty list and inspect', () => {
  it('list by subject and page', async () => {
    const { id, subject } = await issue()
    const { stdout } = await network.asOperator(`treaty list --subject ${subject}`)
    expect(stdout).toContain(`${id}  TEST-NET ──▶ ${subject}`)
    expect(stdout).toContain('1 treaty.')
    const cut = await network.asOperator('treaty list --limit 1')
    expect(cut.stdout).toMatch(/Shows 1 of \d+\. Add --all or --limit\./)
    const all = (await network.asOperator('treaty list --all --json')).json()
    expect(all['count']).toBe(all['total'])
    expect((await network.asOperator('treaty list --subject UNKNOWN')).stdout).toBe('No treaty.\n')
  })

  it('inspects a file, and finds out that it was changed', async () => {
    const { id } = await issue()
    const row = await rowOf(id)
    await writeFile(network.setup.path('good.json'), writeJson(row['treaty'] as JsonObject))
    expect((await network.asOperator('verify good.json')).code).toBe(0)
    const changed = { ...(row['treaty'] as JsonObject), subject_sovereign_id: 'EVIL-NET' }
    await writeFile(network.setup.path('bad.json'), writeJson(changed))
    const bad = await network.asOperator('verify bad.json --json')
    expect(bad.errorJson()).toMatchObject({ error: { code: 'invalid_signature' } })
    // Without a pin the authority says so.
    const unpinned = await network.run(`verify bad.json --url ${network.na.url}`)
    expect([unpinned.code, unpinned.stdout.includes('(not_held)')]).toEqual([1, true])
    await writeFile(network.setup.path('other.json'), '{}')
    expect((await network.asOperator('verify other.json')).stderr).toContain('is not a recognition treaty')
  })
})

describe('partner show', () => {
  it('says why there is none', async () => {
    const none = await network.asOperator('partner show NOWHERE --path-from TEST-NET')
    expect([none.code, none.stdout.includes('no chain of active treaties')]).toEqual([1, true])
    expect((await network.asOperator('partner show A --path-from A')).stdout).toContain('no treaty with itself')
    expect((await network.asOperator('partner show B --path-from A --json')).json()).toMatchObject({
      trusted: false,
      hop_count: 0,
    })
  })
})
