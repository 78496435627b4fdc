import { readFile, writeFile } from 'node:fs/promises'
import {
  asJson,
  canonicalJson,
  digestOfPart,
  partOf,
  readAttestation,
  readJson,
  signList,
  verifyList,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFakeAuthority } from '../../testing/fake-authority.suite.ts'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network = undefined as unknown as RealNetwork
let secret = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
  secret = await openNetwork({ NA_PUBLIC_ATTESTATION_LIST: 'off' })
})
afterAll(async () => {
  await network.close()
  await secret.close()
})

async function issue(subject: string): Promise<string> {
  const { json } = await network.asOperator(`attestation issue ${subject} --role role:client --json`)
  return String(json()['attestation_id'])
}

describe('attestation issue', () => {
  it('keeps the signed record in a file', async () => {
    await writeFile(network.setup.path('claims.json'), '{"limit":90.0,"level":"low"}')
    const line = 'attestation issue alice --role role:client --claims claims.json --claim level=high --out alice.json'
    const { code, stdout } = await network.asOperator(line)
    expect(code).toBe(0)
    expect(stdout).toContain('Written to ./alice.json.')
    const record = readAttestation(readJson(await readFile(network.setup.path('alice.json'), 'utf8')))
    expect(await verifyList(record, [network.genesis.network_authority.public_key])).toBe(true)
    expect(canonicalJson(record.claims)).toBe('{"level":"high","limit":90.0}')
    // A second time the file is in the way, and nothing is issued.
    const before = (await network.na.auditEvents('membership_attestation_issued')).length
    expect((await network.asOperator(line)).stderr).toContain('exists already')
    expect(await network.na.auditEvents('membership_attestation_issued')).toHaveLength(before)
  })

  it.each([
    ['attestation issue a --role client', 'A role reads role:<name>'],
    ['attestation issue a --role role:client --claim x', '--claim must read <name>=<value>'],
    ['attestation issue a', '--role must be given'],
    ['attestation issue a --role role:client --operator-key standard.key', 'privileged'],
  ])('%s is explained', async (line, hint) => {
    const { code, stderr } = await network.asOperator(line)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(hint)
  })
})

describe('attestation revoke', () => {
  it('shows, asks, revokes', async () => {
    const id = await issue('bob')
    const dry = await network.asOperator(`attestation revoke ${id} --dry-run`)
    expect(dry.stdout).toContain(`Would stop being accepted: 1 attestation: ${id}`)
    expect((await network.asOperator(`attestation revoke ${id}`)).code).toBe(2)
    const done = await network.asOperator(`attestation revoke ${id} --reason left --yes --json`)
    expect(done.json()).toMatchObject({ attestation_id: id, status: 'revoked', forecast: { would_change: true } })
    const again = await network.asOperator(`attestation revoke ${id} --yes`)
    expect(again.stderr).toContain('is revoked already')
    const feed = (await network.asOperator('partner export-feed --json')).json()
    expect(feed['revocation_reasons']).toMatchObject({ [id]: 'left' })
  })

  it('explains an unknown id', async () => {
    const { code, stderr } = await network.asOperator('attestation revoke nothing --yes')
    expect([code, stderr.includes('chancery attestation list')]).toEqual([1, true])
  })
})

describe('attestation list', () => {
  it('filters, and says when it is cut off', async () => {
    const id = await issue('carol')
    const { stdout } = await network.asOperator('attestation list --subject carol')
    expect(stdout).toContain(`${id}  carol`)
    expect((await network.asOperator('attestation list --limit 1')).stdout).toContain('Shows 1 of')
    expect((await network.asOperator('attestation list --state revoked --json')).json()['count']).toBe(1)
    const all = (await network.asOperator('attestation list --all --json')).json()
    expect((all['attestations'] as readonly JsonObject[]).length).toBe(all['count'])
    expect((await network.asOperator('attestation list --subject unknown')).stdout).toBe('No attestation.\n')
  })

  it('lists as operator where the network does not publish its members', async () => {
    await secret.asOperator('attestation issue dave --role role:client')
    const { stdout } = await secret.asOperator('attestation list')
    expect(stdout).toBe('1 attestation. Only operators can list them: add --signed.\n')
    const filtered = await secret.asOperator('attestation list --subject dave')
    expect([filtered.code, filtered.stderr.includes('Add --signed')]).toEqual([1, true])
    expect((await secret.asOperator('attestation list --signed --all')).stdout).toContain('dave')
  })
})

describe('verify', () => {
  it('verifies with a policy file, and explains what is missing', async () => {
    await network.asOperator('attestation issue erin --role role:client --out erin.json')
    const none = await network.asOperator('verify erin.json')
    expect([none.code, none.stderr.includes('--treaty <id>')]).toEqual([1, true])
    const policy = (roles: readonly string[]): string =>
      writeJson({
        local_sovereign_id: 'X',
        recognized_issuers: [
          {
            sovereign_id: 'TEST-NET',
            public_keys: [network.genesis.network_authority.public_key],
            allowed_roles: roles,
          },
        ],
      })
    await writeFile(network.setup.path('policy.json'), policy(['role:client']))
    expect((await network.asOperator('verify erin.json --with policy.json')).code).toBe(0)
    await writeFile(network.setup.path('narrow.json'), policy([]))
    const narrow = await network.asOperator('verify erin.json --with narrow.json')
    expect([narrow.code, narrow.stdout.includes('(role_not_allowed)')]).toEqual([1, true])
    expect((await network.asOperator('verify erin.json --with policy.json --with x')).code).toBe(2)
    expect((await network.asOperator('verify erin.json --key x')).code).toBe(2)
  })
})

describe('feed', () => {
  it('is exported to a file and never imported at home', async () => {
    const { code, stdout } = await network.asOperator('partner export-feed --out feed.json')
    expect([code, stdout.includes('Written to ./feed.json.')]).toEqual([0, true])
    const own = await network.asOperator('partner import-feed feed.json')
    expect([own.code, own.stderr.includes('The own feed cannot be imported')]).toEqual([1, true])
  })

  it('that has several parts is imported part by part from its address', async () => {
    const issuer = await testSigner('na-big', 'big na')
    const ids = Array.from({ length: 60 }, (_, i) => `a77e57a7-0000-4000-8000-${String(i).padStart(12, '0')}`)
    const parts = Array.from({ length: 8 }, (_, part) => {
      const own = ids.filter((id) => partOf(id, 3) === part)
      const revocation_reasons = Object.fromEntries(own.map((id) => [id, 'superseded by a newer one']))
      return { issuer_sovereign_id: 'BIG-NET', part, part_bits: 3, revoked_attestation_ids: own, revocation_reasons }
    })
    const draft = {
      index_id: 'big-index',
      issuer_sovereign_id: 'BIG-NET',
      issued_by: 'na-big',
      sequence: 60_000,
      issued_at: '2030-01-01T00:00:00Z',
      total_ids: ids.length,
      part_bits: 3,
      parts: parts.map((part) => ({
        part: part.part,
        count: part.revoked_attestation_ids.length,
        digest: digestOfPart(part),
      })),
      signatures: [],
    }
    const index = await signList(draft, issuer)
    const big = await startFakeAuthority({ audience: issuer.publicKey, operator: issuer.publicKey }, ({ route }) => ({
      json: asJson(route.endsWith('/index') ? index : (parts[Number(route.at(-1))] ?? {})),
    }))
    try {
      const done = await network.asOperator(`partner import-feed ${big.url} --key ${issuer.publicKey}`)
      expect(done.code).toBe(0)
      expect(done.stdout).toMatch(/revoked +60\n +complete +yes/)
      const again = await network.asOperator(`partner import-feed ${big.url} --key ${issuer.publicKey}`)
      expect([again.code, again.stdout.includes('Nothing changed: feed 60000 of BIG-NET')]).toEqual([0, true])
    } finally {
      await big.close()
    }
  })

  it('needs a key for a network without a treaty', async () => {
    const other = await openNetwork({}, 'OTHER-NET')
    const { code, stderr } = await network.asOperator(`partner import-feed ${other.na.url}`)
    expect([code, stderr.includes('No active treaty names a key of OTHER-NET')]).toEqual([1, true])
    const wrong = await network.asOperator(
      `partner import-feed ${other.na.url} --key ${network.genesis.network_authority.public_key}`,
    )
    expect([wrong.code, wrong.stderr.includes('signed with another key')]).toEqual([1, true])
    const key = other.genesis.network_authority.public_key
    const supplied = await network.asOperator(`partner import-feed ${other.na.url} --issuer OTHER-NET --key ${key}`)
    expect([supplied.code, supplied.stdout.includes('the keys you supplied')]).toEqual([0, true])
    await other.close()
  })
})
