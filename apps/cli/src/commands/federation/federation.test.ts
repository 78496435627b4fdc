import { writeFile } from 'node:fs/promises'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let [own, partner] = [undefined, undefined] as unknown as [RealNetwork, RealNetwork]
beforeAll(async () => {
  own = await openNetwork({}, 'OWN-NET')
  partner = await openNetwork({}, 'PARTNER-NET')
})
afterAll(async () => {
  await own.close()
  await partner.close()
})

function bootstrap(flags = ''): string {
  return `partner add ${partner.na.url} --role role:client ${flags}`
}

async function treaties(): Promise<number> {
  return Number((await own.run(`treaty list --json --url ${own.na.url}`)).json()['count'])
}

describe('partner inspect', () => {
  it('shows who answers and that it fits together, and does not call that proof', async () => {
    const { code, stdout } = await own.run(`partner inspect ${partner.na.url}`)
    expect(code).toBe(0)
    expect(stdout).toContain('PARTNER-NET v0.1')
    expect(stdout).toContain(partner.genesis.network_authority.public_key)
    expect(stdout).toContain('Nothing proves yet')
  })

  it('checks it against a pin', async () => {
    const right = `partner inspect ${partner.na.url} --root-key ${partner.genesis.root_public_key} --json`
    expect((await own.run(right)).json()).toMatchObject({ pinned: true, consistent: true, problems: [] })
    const wrong = await own.run(`partner inspect ${partner.na.url} --root-key ${own.genesis.root_public_key}`)
    expect(wrong.code).toBe(1)
    expect(wrong.stdout).toContain('Do not trust it')
  })

  it('says when the key of the authority is outside its time', async () => {
    const later = { now: () => own.clock.now() + 100n * 86_400_000_000n }
    const { code, json } = await own.run(`partner inspect ${partner.na.url} --json`, later)
    expect(code).toBe(1)
    expect(json()['problems']).toEqual([{ code: 'authority_window', message: 'the time of its authority key is over' }])
  })

  it('explains an address that is none', async () => {
    const { code, stderr } = await own.run('partner inspect partner')
    expect(code).toBe(2)
    expect(stderr).toContain('must be an http or https URL')
  })
})

describe('partner add', () => {
  it('refuses without a pin, saying what the way around means', async () => {
    const { code, stderr } = await own.asOperator(bootstrap('--yes'))
    expect(code).toBe(2)
    expect(stderr).toContain('--root-key or --genesis')
    expect(stderr).toContain('accepts the server that answers now')
    expect(await treaties()).toBe(0)
  })

  it.each([
    ['root_key_mismatch', () => `--root-key ${own.genesis.root_public_key}`],
    ['genesis_mismatch', () => `--genesis ${genesisFingerprint(own.genesis)}`],
    ['genesis_mismatch', () => '--genesis genesis.json'],
  ])('refuses another sovereign than the pinned one (%s)', async (problem, pin) => {
    const { code, errorJson } = await own.asOperator(bootstrap(`--yes --json ${pin()}`))
    expect(code).toBe(1)
    expect(errorJson()).toMatchObject({ error: { code: problem } })
    expect(await treaties()).toBe(0)
  })

  it('cannot recognise itself', async () => {
    const line = `partner add ${own.na.url} --role role:client --trust-first-use --yes`
    const { code, stderr } = await own.asOperator(line)
    expect(code).toBe(1)
    expect(stderr).toContain('cannot recognise itself')
  })

  it('only shows what would be trusted with --dry-run', async () => {
    const { code, stdout } = await own.asOperator(bootstrap(`--dry-run --root-key ${partner.genesis.root_public_key}`))
    expect(code).toBe(0)
    for (const shown of ['PARTNER-NET', partner.genesis.network_authority.public_key, 'role:client', 'its root key'])
      expect(stdout).toContain(shown)
    expect(stdout).toContain(partner.genesis.network_authority.valid_to)
    expect(await treaties()).toBe(0)
  })

  it('takes no for an answer, after showing everything', async () => {
    const questions: string[] = []
    const confirm = (question: string): Promise<boolean> => {
      questions.push(question)
      return Promise.resolve(false)
    }
    const line = bootstrap(`--root-key ${partner.genesis.root_public_key}`)
    const { code, stderr } = await own.asOperator(line, { isTTY: true, prompts: { confirm } })
    expect(code).toBe(1)
    expect(stderr).toContain('Would be trusted:')
    expect(questions).toEqual([`Recognise PARTNER-NET at ${own.na.url}?`])
    expect(await treaties()).toBe(0)
  })

  it('does not act unasked in a script', async () => {
    const { code, stderr } = await own.asOperator(bootstrap('--trust-first-use'))
    expect(code).toBe(2)
    expect(stderr).toContain('add --yes')
  })

  it('issues the treaty, and the whole way works from there', async () => {
    const pin = `--genesis ${genesisFingerprint(partner.genesis)}`
    const { code, json } = await own.asOperator(bootstrap(`${pin} --capability ledger.* --yes --json`))
    expect(code).toBe(0)
    const treaty = json()['treaty'] as JsonObject
    expect(json()).toMatchObject({ sovereign_id: 'PARTNER-NET', pinned: 'genesis', capabilities: ['ledger.*'] })
    expect(treaty).toMatchObject({
      issuer_sovereign_id: 'OWN-NET',
      subject_sovereign_id: 'PARTNER-NET',
      subject_public_keys: [partner.genesis.network_authority.public_key],
      scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
    })

    const issued = await partner.asOperator('attestation issue zoë@partner --role role:client --out member.json --json')
    const member = issued.json()
    await writeFile(own.setup.path('member.json'), writeJson(member))
    const id = String(treaty['treaty_id'])
    const accepted = await own.run(`verify member.json --with ${id} --url ${own.na.url}`)
    expect([accepted.code, accepted.stdout.split('\n')[0]]).toEqual([0, 'Accepted: it is valid.'])
    expect(accepted.stdout).toContain('Revocation not checked: the authority has no feed of PARTNER-NET.')

    const path = await own.run(`partner show PARTNER-NET --path-from OWN-NET --url ${own.na.url}`)
    expect([path.code, path.stdout.split('\n')[0]]).toEqual([0, 'OWN-NET ──treaty──▶ PARTNER-NET'])

    await partner.asOperator(`attestation revoke ${String(member['attestation_id'])} --reason left --yes`)
    const imported = await own.asOperator(`partner import-feed ${partner.na.url} --json`)
    expect(imported.json()).toMatchObject({ sequence: 1, revoked_count: 1, trust_basis: 'recognized_issuer_keys' })
    const saved = await partner.run(`partner export-feed --out feed.json --url ${partner.na.url}`)
    expect(saved.code).toBe(0)
    const refused = await own.run(`verify member.json --with ${id} --url ${own.na.url} --json`)
    expect(refused.code).toBe(1)
    expect(refused.json()).toMatchObject({ accepted: false, reason: 'attestation_locally_revoked' })
    expect(refused.json()).toMatchObject({ revocation: { checked: true, feed: 1, imported_at: expect.any(String) } })
    const again = await own.asOperator(`partner import-feed ${partner.na.url}`)
    expect([again.code, again.stdout]).toEqual([0, 'Nothing changed: feed 1 of PARTNER-NET was imported before.\n'])
    const status = await own.run(`status --url ${own.na.url}`)
    const theirs = await partner.run(`status --url ${partner.na.url}`)
    expect(theirs.stdout).toMatch(
      /^Own feed\n {2}sequence {2}1\n {2}age {7}less than 1 h\n {2}ids {7}1 of at most 2000000/,
    )
    expect(status.stdout).toMatch(/^PARTNER-NET +1 +1 +less than 1 h +yes$/m)
    const told = await own.asOperator(`partner import-feed ${partner.na.url} --json`)
    expect(told.json()).toMatchObject({ unchanged: true, issuer_sovereign_id: 'PARTNER-NET', sequence: 1 })
    // A feed that is older than the imported one stays a failure.
    const other = await partner.asOperator('attestation issue ann@partner --role role:client --json')
    await partner.asOperator(`attestation revoke ${String(other.json()['attestation_id'])} --reason left --yes`)
    expect((await own.asOperator(`partner import-feed ${partner.na.url}`)).code).toBe(0)
    const older = await own.asOperator(`partner import-feed ${partner.setup.path('feed.json')}`)
    expect([older.code, older.stderr.includes('Nothing was imported')]).toEqual([1, true])

    const ended = await own.asOperator(`treaty revoke ${id} --yes`)
    expect(ended.stderr).toContain('Would stop being accepted: all attestations of PARTNER-NET')
    expect(ended.stderr).toContain('Would be cut off: 1 path: OWN-NET ──▶ PARTNER-NET')
    const gone = await own.run(`partner show PARTNER-NET --path-from OWN-NET --url ${own.na.url}`)
    expect(gone.code).toBe(1)
    expect(gone.stdout).toContain('direct_treaty_revoked')
  })

  it('says what first use means, and that a treaty is there already', async () => {
    const first = await own.asOperator(bootstrap('--trust-first-use --yes'))
    expect(first.code).toBe(0)
    expect(first.stderr).toContain('An attacker who controls the address or the connection would be recognised instead')
    const second = await own.asOperator(bootstrap('--trust-first-use --dry-run --validity-hours 26280'))
    expect(second.stderr).toContain('has a treaty already')
    expect(second.stderr).toContain('outlives the authority key')
  })
})
